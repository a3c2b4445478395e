import type { IncomingHttpHeaders } from 'node:http'
import type { ForgeState } from './forgeState.ts'
import type { Change } from './model.ts'

/** One request to a forge's API, by a known account. */
export interface Call {
  /** The value in the path for `:name`, decoded. */
  params: Record<string, string>
  query: URLSearchParams
  body: Record<string, any>
  actor: string
}
export interface Answer {
  status?: number
  headers?: Record<string, string>
  /** Sent as JSON; a string as plain text. */
  body?: unknown
  /** Sent as JSON, a page at a time; `wrap` adds the envelope of a page. */
  list?: readonly unknown[]
  wrap?: (page: unknown[], total: number) => unknown
}
/** "GET /repos/:owner/:repo/pulls" and its handler. `:name*` also matches slashes. */
export type Routes = Record<string, (call: Call) => Answer>
/** The address of a forge, and its repository. */
export interface Place {
  /** The address of its pages. */
  url: string
  /** The address of files to which it redirects. */
  storageUrl: string
  owner: string
  name: string
}
export interface Page {
  number: number
  size: number
  total: number
  /** The address of this list at another page. */
  at(page: number): string
}
/** The properties of one forge's API. */
export interface Wire {
  /** The path of the API. */
  prefixes: readonly string[]
  routes: Routes
  /** The token of a request to the API. */
  token(headers: IncomingHttpHeaders): string | undefined
  /** The format of an error. */
  refusal(status: number, message: string, details?: Record<string, unknown>): unknown
  /** Names and limits of the parameters of pages. */
  pages: { size: string; usual: number; maxSize: number }
  pageHeaders(page: Page): Record<string, string>
  /** The headers of the rate limit. */
  rateHeaders(limit: number, remaining: number, resetAt: number): Record<string, string>
  /** Whether responses have ETags and If-None-Match is supported. */
  conditional: boolean
  /** The response for exceeding the rate limit. */
  limited(
    kind: 'primary' | 'secondary',
    seconds: number,
  ): { status: number; headers: Record<string, string>; body: unknown }
  /** The webhook's event and body for a change, if it has one. */
  event(change: Change): { name: string; body: object } | undefined
  /** The headers of a delivery. */
  sign(event: string, id: string, body: string, secret: string): Record<string, string>
}
export type MakeWire = (state: ForgeState, place: Place, storageSecret: string) => Wire

export const iso = (time: number): string => new Date(time).toISOString().replace('.000Z', 'Z')
export const isoOrNull = (time: number | null): string | null => (time === null ? null : iso(time))

/** "next", "prev", "first" and "last" in the format of RFC 8288. */
export function linkHeader({ number, size, total, at }: Page): Record<string, string> {
  const last = Math.max(1, Math.ceil(total / size))
  const links = [
    ...(number > 1 ? [`<${at(number - 1)}>; rel="prev"`] : []),
    ...(number < last ? [`<${at(number + 1)}>; rel="next"`, `<${at(last)}>; rel="last"`] : []),
    ...(number > 1 ? [`<${at(1)}>; rel="first"`] : []),
  ]
  return links.length > 0 ? { link: links.join(', ') } : {}
}
