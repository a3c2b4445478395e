import { version } from '../config/version.ts'

const timeLimitMs = 10_000
const mostBytes = 256 * 1024

export interface OutsideRequest { method?: 'GET' | 'POST'; headers?: Record<string, string>; body?: string | Uint8Array; signal?: AbortSignal }
export interface OutsideAnswer { status: number; headers: Record<string, string>; text: string }

/**
 * Sends one request to a server that a user has named. No redirect is followed, so that what the request carries goes nowhere
 * else; the answer must come within 10 seconds, and of its body 256 KiB are read.
 * @throws Error of the network, or TimeoutError
 */
export async function askOutside(url: string, { method = 'GET', headers = {}, body, signal }: OutsideRequest = {}): Promise<OutsideAnswer> {
  const { request } = await import('../client/undici.ts')
  const ends = [AbortSignal.timeout(timeLimitMs), ...(signal ? [signal] : [])]
  const answer = await request(url, { method, headers: { accept: 'application/json', 'user-agent': `board/${version}`, ...headers }, body, signal: AbortSignal.any(ends) })
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= mostBytes) break
  }
  return { status: answer.statusCode, headers: plain(answer.headers), text: Buffer.concat(chunks).subarray(0, mostBytes).toString('utf8') }
}

const plain = (headers: Record<string, string | string[] | undefined>) =>
  Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]]))

/** Why no answer came, in words that hold nothing of the request. */
export function whyUnreachable(error: unknown): string {
  const { name, code } = error as { name?: string; code?: unknown }
  if (name === 'TimeoutError') return `it did not answer within ${timeLimitMs / 1000} seconds`
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? code : 'the connection failed'
}
