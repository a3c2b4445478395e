import type { Dispatcher } from 'undici'
import { version } from '../config/version.ts'
import { createTail } from '../process/output.ts'

const timeLimitMs = 10_000
const maxBytes = 256 * 1024
/** The limit for reading a body of which only the end is kept. */
const maxTailReadBytes = 256 * 1024 * 1024

export interface OutboundRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  headers?: Record<string, string>
  body?: string | Uint8Array
  signal?: AbortSignal
}
/** The limits of one response. The defaults are 10 seconds and 256 KiB. */
export interface OutboundLimits {
  /** The limit for the whole response, from the connection to the end of the body. */
  timeLimitMs?: number
  /** The number of bytes that `text` keeps. */
  maxBytes?: number
  /** The number of bytes that are read to find the end of the body (default: `maxBytes`). */
  maxReadBytes?: number
  /** Keeps the end of the body instead of its start. */
  keepsEnd?: boolean
  /** Returns a response whose body fails as `unfinished`, instead of throwing. */
  keepsUnfinished?: boolean
  dispatcher?: Dispatcher
}
export interface OutboundAnswer {
  status: number
  headers: Record<string, string>
  text: string
  /** Why the end of the body was not received: "did not end within 15 seconds". Undefined for a complete response. */
  unfinished: string | undefined
}

/**
 * Sends one request to a server that a user has named. Redirects are not followed, so the request's credentials reach no
 * other server.
 * @throws Error of the network, or TimeoutError
 */
export async function sendOutbound(
  url: string,
  { method = 'GET', headers = {}, body, signal }: OutboundRequest = {},
  limits: OutboundLimits = {},
): Promise<OutboundAnswer> {
  const { request } = await import('../client/undici.ts')
  const ends = [AbortSignal.timeout(limits.timeLimitMs ?? timeLimitMs), ...(signal ? [signal] : [])]
  const answer = await request(url, {
    method,
    headers: { accept: 'application/json', 'user-agent': `board/${version}`, ...headers },
    body,
    signal: AbortSignal.any(ends),
    ...(limits.dispatcher && { dispatcher: limits.dispatcher }),
  })
  return { status: answer.statusCode, headers: plainHeaders(answer.headers), ...(await readBody(answer.body, limits)) }
}

/** Leaving the loop before the end of the body closes the connection. */
async function readBody(
  body: AsyncIterable<Buffer>,
  limits: OutboundLimits,
): Promise<Pick<OutboundAnswer, 'text' | 'unfinished'>> {
  const { maxBytes: maxKept = maxBytes, keepsEnd = false, keepsUnfinished = false } = limits
  const maxRead = limits.maxReadBytes ?? (keepsEnd ? maxTailReadBytes : maxKept)
  const kept: Buffer[] = []
  const tail = createTail(maxKept)
  let size = 0
  let unfinished: string | undefined
  try {
    for await (const chunk of body) {
      if (keepsEnd) tail.add(chunk)
      else if (size < maxKept) kept.push(chunk)
      size += chunk.length
      if (size <= maxRead) continue
      unfinished = `is larger than ${maxRead / 1024} KiB`
      break
    }
  } catch (error) {
    if (!keepsUnfinished) throw error
    unfinished =
      (error as Error).name === 'TimeoutError'
        ? `did not end within ${(limits.timeLimitMs ?? timeLimitMs) / 1000} seconds`
        : 'was interrupted'
  }
  return { text: keepsEnd ? tail.text() : Buffer.concat(kept).subarray(0, maxKept).toString('utf8'), unfinished }
}

const plainHeaders = (headers: Record<string, string | string[] | undefined>) =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  )

/** The reason why no response arrived, without any part of the request. */
export function whyUnreachable(error: unknown, limitMs = timeLimitMs): string {
  const { name, code } = error as { name?: string; code?: unknown }
  if (name === 'TimeoutError') return `it did not answer within ${limitMs / 1000} seconds`
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? code : 'the connection failed'
}
