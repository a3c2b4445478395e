import { request as requestHttp, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Readable } from 'node:stream'

/** One request. */
export interface Exchange {
  method: string
  headers: Record<string, string>
  /** A stream is read once. */
  body?: string | (() => Readable)
  signal?: AbortSignal
  /** The only certificate (PEM) that is taken for the server's. Without it the authorities decide that Node knows. */
  certificate?: string
  /** How long the connection may be silent. 0: for ever. */
  timeoutMs: number
}

/** An answer whose body is read. */
export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  bytes: Buffer
}

/**
 * Sends a request and gives the whole answer. Connections are kept for the next request by Node's own agent.
 * @throws whatever keeps the answer from coming, and the signal's reason
 */
export async function exchange(url: URL, request: Exchange): Promise<Answer> {
  const answer = await openExchange(url, request)
  return { status: answer.statusCode!, headers: answer.headers, bytes: Buffer.concat(await answer.toArray()) }
}

/**
 * Sends a request and gives the answer as soon as its head is there; its body is read from the message.
 * @throws whatever keeps the answer from coming, and the signal's reason
 */
export async function openExchange(
  url: URL,
  { body, timeoutMs, certificate, ...options }: Exchange,
): Promise<IncomingMessage> {
  // TLS takes a third of a short command's time to load (8 ms).
  const send =
    url.protocol === 'https:' ? (await import('./certificatePin.ts')).requestPinned(certificate) : requestHttp
  return new Promise((resolve, reject) => {
    const outgoing = send(url, { ...options, timeout: timeoutMs }, resolve)
    outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })))
    outgoing.on('error', error => {
      const { code } = error as NodeJS.ErrnoException
      // The server may have closed a kept connection meanwhile: what only reads is asked again, on another one.
      if (outgoing.reusedSocket && code === 'ECONNRESET' && isSafe(options.method))
        resolve(openExchange(url, { body, timeoutMs, certificate, ...options }))
      else reject(options.signal?.aborted ? (options.signal.reason as Error) : error)
    })
    if (typeof body === 'function')
      pipeline(body(), outgoing).catch(() => {
        /* The request's own error says it, or the server has answered before it read everything. */
      })
    else outgoing.end(body)
  })
}

const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD'
