import { ApiFailure, Unreachable, type SentRequest } from './failures.ts'

interface Answered {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** The parsed body. Undefined if it is empty or not JSON. */
  body: unknown
  asked: SentRequest
}

/**
 * The statuses that a proxy in front of the board sends with its own page: the board is unavailable or busy, or the body was too
 * long.
 */
const fromProxy: ReadonlySet<number> = new Set([408, 413, 429, 502, 503, 504])

/**
 * The `data` of the board's response.
 * @param url the supposed address of the board
 * @throws ApiFailure if the board refuses, Unreachable if the response is not from a board
 */
export function dataOf(url: string, { status, headers, body, asked }: Answered): unknown {
  if (status >= 300 && status < 400 && headers.location !== undefined)
    throw redirectFailure(url, String(headers.location))
  const envelope = typeof body === 'object' && body !== null ? (body as { data?: unknown; error?: unknown }) : {}
  if (status >= 400) {
    if (!isError(envelope.error) && !fromProxy.has(status)) throw noBoard(url, status, headers)
    if (!isError(envelope.error))
      throw new ApiFailure(status, { error: { message: pageOf(url, status, asked) } }, headers, asked)
    const failure = new ApiFailure(status, body, headers, asked)
    // A board below a path of a proxy can end in /api, so only the response of an unknown route shows the mistake.
    throw failure.code === 'NOT_FOUND' && /\/api\/?$/.test(url) ? belowApi(url, failure) : failure
  }
  if (status === 204) return undefined
  if (!('data' in envelope)) throw noBoard(url, status, headers)
  return envelope.data
}

const isError = (error: unknown): boolean => typeof (error as { code?: unknown } | undefined)?.code === 'string'

const pageOf = (url: string, status: number, { path }: SentRequest): string =>
  `${url.replace(/\/$/, '')}${path} returned a page with status ${status} that is not from a board. Check the proxy between here and the board.`

function redirectFailure(url: string, location: string): Unreachable {
  const target = URL.canParse(location, url) ? new URL(location, url) : undefined
  const moved = target && target.pathname.includes('/api/') ? target.href.split('/api/')[0] : target?.origin
  return new Unreachable(url, new Error('redirected'), {
    message: `There is no board at ${url}: it redirects to ${target?.origin === new URL(url).origin ? target.href : (moved ?? location)}.`,
    hint:
      moved !== undefined && moved !== url.replace(/\/$/, '')
        ? `if the board is at that address: --url ${moved}`
        : 'check the address; a network that requires a sign-in also responds this way',
  })
}

function noBoard(url: string, status: number, headers: Answered['headers']): Unreachable {
  const type = String(headers['content-type'] ?? '').split(';')[0]!
  const what = type.includes('html')
    ? 'a web page'
    : type.includes('json')
      ? 'JSON of another program'
      : 'not from a board'
  return new Unreachable(url, new Error(`status ${status}`), {
    message: `There is no board at ${url}: the response is ${what} (status ${status}).`,
    hint: 'check the address; for a server on this machine: board server status',
  })
}

const belowApi = (url: string, cause: ApiFailure): Unreachable =>
  new Unreachable(url, cause, {
    message: `There is no board at ${url}.`,
    hint: `remove /api from the address: ${url.replace(/\/api\/?$/, '')}`,
  })
