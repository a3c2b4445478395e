import { request as requestHttp, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Readable } from 'node:stream'

/** One request. */
export interface Exchange {
  method: string
  headers: Record<string, string>
  /** A stream can be read only once. */
  body?: string | (() => Readable)
  signal?: AbortSignal
  /** The only certificate (PEM) that is accepted from the server. Without it, Node's authorities decide. */
  certificate?: string
  /** The maximum silence on the connection. 0: unlimited. */
  timeoutMs: number
}

/** A response with its body. */
export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  bytes: Buffer
}

/**
 * Sends a request and returns the whole response. Node's own agent keeps connections for the next request.
 * @throws the error that prevents the response, or the signal's reason
 */
export async function exchange(url: URL, request: Exchange): Promise<Answer> {
  const answer = await openExchange(url, request)
  return { status: answer.statusCode!, headers: answer.headers, bytes: Buffer.concat(await answer.toArray()) }
}

/**
 * Sends a request and returns the response as soon as its head arrives. Its body is read from the message.
 * @throws the error that prevents the response, or the signal's reason
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
      // The server might have closed a kept connection in the meantime, so a read is retried on another one.
      if (outgoing.reusedSocket && code === 'ECONNRESET' && isSafe(options.method))
        resolve(openExchange(url, { body, timeoutMs, certificate, ...options }))
      else reject(options.signal?.aborted ? (options.signal.reason as Error) : error)
    })
    if (typeof body === 'function')
      pipeline(body(), outgoing).catch(() => {
        /* The request itself reports the error, or the server has responded before it read the whole body. */
      })
    else outgoing.end(body)
  })
}

const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD'
