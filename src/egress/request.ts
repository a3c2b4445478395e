import type { Dispatcher } from 'undici'
import { version } from '../config/version.ts'
import { createTail } from '../process/output.ts'

const timeLimitMs = 10_000
const maxBytes = 256 * 1024
/** What is read of a body of which only the end is kept. */
const maxReadBytes = 256 * 1024 * 1024

export interface OutboundRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  headers?: Record<string, string>
  body?: string | Uint8Array
  signal?: AbortSignal
}
/**
 * How far an answer is waited for and read, whether its end is kept instead of its start, whether one whose body breaks off is an
 * answer, and who makes the connection.
 */
export interface OutboundLimits {
  timeLimitMs?: number
  maxBytes?: number
  keepsEnd?: boolean
  takesPart?: boolean
  dispatcher?: Dispatcher
}
export interface OutboundAnswer {
  status: number
  headers: Record<string, string>
  text: string
}

/**
 * Sends one request to a server that a user has named. No redirect is followed, so that what the request carries goes nowhere
 * else; the answer must come within 10 seconds, and of its body 256 KiB are read.
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
  return { status: answer.statusCode, headers: plain(answer.headers), text: await readBody(answer.body, limits) }
}

async function readBody(
  body: AsyncIterable<Buffer>,
  { maxBytes: most = maxBytes, keepsEnd = false, takesPart = false }: OutboundLimits,
): Promise<string> {
  const kept: Buffer[] = []
  const tail = createTail(most)
  const enough = keepsEnd ? maxReadBytes : most
  let size = 0
  try {
    for await (const chunk of body) {
      if (keepsEnd) tail.add(chunk)
      else kept.push(chunk)
      size += chunk.length
      if (size >= enough) break
    }
  } catch (error) {
    if (!takesPart) throw error
  }
  return keepsEnd ? tail.text() : Buffer.concat(kept).subarray(0, most).toString('utf8')
}

const plain = (headers: Record<string, string | string[] | undefined>) =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  )

/** Why no answer came, in words that hold nothing of the request. */
export function whyUnreachable(error: unknown, limitMs = timeLimitMs): string {
  const { name, code } = error as { name?: string; code?: unknown }
  if (name === 'TimeoutError') return `it did not answer within ${limitMs / 1000} seconds`
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? code : 'the connection failed'
}
