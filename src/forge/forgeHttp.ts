import type { Dispatcher } from 'undici'
import * as v from 'valibot'
import { systemClock, type Clock } from '../async/clock.ts'
import { backoffMs } from '../async/backoff.ts'
import { retry } from '../async/retry.ts'
import { EgressRefused } from '../egress/guardedLookup.ts'
import { sendOutbound, whyUnreachable, type OutboundAnswer, type OutboundRequest } from '../egress/request.ts'
import { ForgeFailed } from './forge.ts'
import { failureOf, type ForgeAccess } from './forgeFailures.ts'

const timeLimitMs = 20_000
const logTimeLimitMs = 60_000
/** A hundred issues with the longest texts that GitHub accepts are 7 MB. */
const maxAnswerBytes = 16 * 1024 * 1024
/** The length of a log's end that is searched for errors. */
const maxLogBytes = 4 * 1024 * 1024
const maxPages = 20
const maxRedirects = 3
const attempts = 3
const pauses = { firstMs: 250, maxMs: 2000, jitter: 0.3 }

/** `dispatcher` connects according to the egress policy. Undefined allows any address. */
export interface ForgeOptions {
  dispatcher: Dispatcher | undefined
  clock?: Clock
}
type Query = Readonly<Record<string, string | number | boolean | undefined>>
export type Schema<T> = v.GenericSchema<unknown, T>

/**
 * Requests to a forge's API, at paths below its address, or at whole addresses of its origin. All throw ForgeFailed. Reads are retried if
 * there is no response, or after 5xx. Writes are never retried, because they might have taken effect: the caller reads the state again.
 */
export interface ForgeHttp {
  get<T>(path: string, schema: Schema<T>, query?: Query): Promise<T>
  /** With an earlier ETag, the result can be 'unchanged'. */
  getSince<T>(path: string, schema: Schema<T>, etag?: string): Promise<{ value: T; etag?: string } | 'unchanged'>
  /** The items of all pages, up to a maximum. */
  list<T>(path: string, page: Schema<T[]>, query?: Query): Promise<T[]>
  send<T>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body: object, schema: Schema<T>): Promise<T>
  /** The end of a text, following redirects to other hosts without the token. Undefined if there is none. */
  log(path: string): Promise<string | undefined>
}

export function createForgeHttp(access: ForgeAccess, options: ForgeOptions): ForgeHttp {
  const ask = (url: string, request: OutboundRequest, isLog = false) => answerOf(access, options, url, request, isLog)
  const read = (path: string, { query = {}, etag, isLog }: { query?: Query; etag?: string; isLog?: boolean } = {}) =>
    retry(() => followRedirects(access, ask, urlOf(access, path, query), etag, isLog), {
      delayMs: (error, failures) =>
        failures < attempts && error instanceof ForgeFailed && error.reason === 'unreachable'
          ? backoffMs(failures, pauses)
          : undefined,
    })
  return {
    get: async (path, schema, query) => parse(schema, path, await read(path, { query })),
    getSince: async (path, schema, since) => {
      const answer = await read(path, { etag: since })
      if (answer.status === 304) return 'unchanged'
      return { value: parse(schema, path, answer), etag: answer.headers.etag?.slice(0, 255) }
    },
    list: async (path, page, query = {}) => {
      const found = []
      let next: Query | undefined = query
      for (let pages = 0; next && pages < maxPages; pages++) {
        const answer: OutboundAnswer = await read(path, { query: next })
        found.push(...parse(page, path, answer))
        next = nextPage(access, answer)
      }
      return found
    },
    send: async (method, path, body, schema) => {
      const headers = { 'content-type': 'application/json' }
      const answer = await ask(urlOf(access, path), { method, headers, body: JSON.stringify(body) })
      if (answer.status >= 300)
        throw new ForgeFailed(
          'missing',
          'The repository has moved to another address on the forge. Set that address as the remote.',
        )
      return parse(schema, path, answer)
    },
    log: path =>
      read(path, { isLog: true }).then(
        ({ text }) => text,
        (error: unknown) => {
          if (error instanceof ForgeFailed && error.reason === 'missing') return undefined
          throw error
        },
      ),
  }
}

/** Sends one request with the token, which goes only to the forge's own origin. */
async function answerOf(
  access: ForgeAccess,
  options: ForgeOptions,
  url: string,
  request: OutboundRequest,
  isLog: boolean,
): Promise<OutboundAnswer> {
  const { clock = systemClock, dispatcher } = options
  const isOwn = new URL(url).origin === new URL(access.apiUrl).origin
  const headers = { ...(isOwn ? access.headers : { accept: '*/*' }), ...request.headers }
  const limitMs = isLog ? logTimeLimitMs : timeLimitMs
  const maxBytes = isLog ? maxLogBytes : maxAnswerBytes
  const limits = { timeLimitMs: limitMs, maxBytes, keepsEnd: isLog, dispatcher }
  const answer = await sendOutbound(url, { ...request, headers }, limits).catch((error: unknown) => {
    const why =
      error instanceof EgressRefused
        ? 'it has a loopback, private or link-local address; to allow such addresses, start the server with --allow-private-webhooks'
        : whyUnreachable(error, limitMs)
    throw new ForgeFailed('unreachable', `${new URL(url).host} could not be reached: ${why}.`, { cause: error })
  })
  const failure = failureOf(access, answer, clock().getTime())
  if (failure) throw failure
  return answer
}

/** Reads, and follows redirects. Only logs can be on another host. */
async function followRedirects(
  { apiUrl }: ForgeAccess,
  ask: (url: string, request: OutboundRequest, isLog?: boolean) => Promise<OutboundAnswer>,
  start: string,
  etag: string | undefined,
  isLog = false,
): Promise<OutboundAnswer> {
  const own = new URL(apiUrl)
  let url = new URL(start)
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const answer = await ask(url.href, { headers: etag === undefined ? {} : { 'if-none-match': etag } }, isLog)
    if (answer.status < 300 || answer.status === 304) return answer
    const { location = '' } = answer.headers
    if (!URL.canParse(location, url.href)) break
    url = new URL(location, url)
    const isSafe = url.protocol === 'https:' || url.protocol === own.protocol
    if (url.origin !== own.origin && !(isLog && isSafe)) break
  }
  throw new ForgeFailed('odd', 'The forge answered with a redirect that is not followed.')
}

function urlOf({ apiUrl }: ForgeAccess, path: string, query: Query = {}): string {
  const url = new URL(path.startsWith('/') ? apiUrl + path : path)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
  return url.href
}

/** The query of the next page. The rest of its address is ignored, because the address can be that of a proxy, or untrusted. */
function nextPage({ apiUrl }: ForgeAccess, { headers: { link = '' } }: OutboundAnswer): Query | undefined {
  const next = /<([^<>]*)>\s*;[^,<]*\brel="?next"?/.exec(link)?.[1]
  if (next === undefined || !URL.canParse(next, apiUrl)) return undefined
  return Object.fromEntries(new URL(next, apiUrl).searchParams)
}

function parse<T>(schema: Schema<T>, path: string, { text }: OutboundAnswer): T {
  const what = new ForgeFailed(
    'odd',
    `The response of the forge does not follow its documentation: ${path.slice(0, 300)}.`,
  )
  let json: unknown
  try {
    json = text === '' ? undefined : JSON.parse(text)
  } catch {
    throw what
  }
  const { success, output, issues } = v.safeParse(schema, json)
  if (success) return output
  const at = v.getDotPath(issues[0])
  throw new ForgeFailed('odd', at === null ? what.message : `${what.message.slice(0, -1)} (${at.slice(0, 100)}).`)
}
