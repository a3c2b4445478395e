import { dataOf } from './envelope.ts'
import { Unreachable } from './failures.ts'
import { exchange, type Answer, type Exchange } from './exchange.ts'
import { askRenewed, type RenewablePlace } from './place.ts'

export type { Answer } from './exchange.ts'

/** The location of a server, its caller, and the options. */
export interface Connection extends RenewablePlace {
  /** The maximum duration of any response. 0: unlimited. */
  timeoutMs?: number
  /** The program's own name, which lists of sign-ins show. */
  userAgent?: string
  /** Called for every request once it has a response, for `--debug`. */
  onRequest?: (line: { method: string; path: string; status: number; tookMs: number; requestId?: string }) => void
}

export interface CallOptions {
  /** The maximum duration of a response if the connection does not set one. Default: 30 seconds. */
  patienceMs?: number
  ifMatch?: string
  idempotencyKey?: string
  signal?: AbortSignal
  headers?: Record<string, string>
}

/**
 * Sends one request.
 * @throws Unreachable if there is no response
 */
export const send = (
  connection: Connection,
  method: string,
  path: string,
  body?: string,
  options: CallOptions = {},
): Promise<Answer> =>
  askRenewed(connection, method === 'GET' || method === 'HEAD', () => sendOnce(connection, method, path, body, options))

async function sendOnce(
  connection: Connection,
  method: string,
  path: string,
  body: string | undefined,
  options: CallOptions,
): Promise<Answer> {
  const url = new URL(connection.url.replace(/\/$/, '') + path)
  const request = {
    method,
    headers: headersOf(connection, body, options),
    body,
    signal: options.signal,
    certificate: connection.certificate,
    timeoutMs: connection.timeoutMs ?? options.patienceMs ?? 30_000,
  }
  const { onRequest } = connection
  if (!onRequest) return exchangeOrFail(url, request)
  const startedAt = performance.now()
  const answer = await exchangeOrFail(url, request)
  onRequest({
    method,
    path,
    status: answer.status,
    tookMs: performance.now() - startedAt,
    requestId: answer.headers['x-request-id'] as string | undefined,
  })
  return answer
}

async function exchangeOrFail(url: URL, request: Exchange): Promise<Answer> {
  try {
    return await exchange(url, request)
  } catch (error) {
    throw toUnreachable(url, request.signal, error)
  }
}

/** Why there was no response: the caller's own abort or mistake, or the server. */
export function toUnreachable(url: URL, signal: AbortSignal | undefined, error: unknown): unknown {
  if (signal?.aborted) return signal.reason
  return (error as { code?: string }).code === 'ERR_INVALID_CHAR' ? error : new Unreachable(url.origin, error)
}

/**
 * Sends a request and returns the `data` of the response.
 * @throws ApiFailure | Unreachable
 */
export async function sendJson(
  connection: Connection,
  method: string,
  path: string,
  input?: unknown,
  options?: CallOptions,
): Promise<unknown> {
  const answer = await send(connection, method, path, input === undefined ? undefined : JSON.stringify(input), options)
  return dataOf(connection.url, { ...answer, body: parseJson(textOf(answer)), asked: { path, input } })
}

export function headersOf(
  connection: Connection,
  body: string | undefined,
  options: CallOptions = {},
): Record<string, string> {
  return {
    accept: 'application/json',
    ...(connection.userAgent && { 'user-agent': connection.userAgent }),
    ...(connection.token && { authorization: `Bearer ${connection.token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(options.ifMatch && { 'if-match': options.ifMatch }),
    ...(options.idempotencyKey && { 'idempotency-key': options.idempotencyKey }),
    ...options.headers,
  }
}

const textOf = ({ bytes }: Answer): string => new TextDecoder().decode(bytes)

/** Parses a body. Undefined if it is not JSON. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
