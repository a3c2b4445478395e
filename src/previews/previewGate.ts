import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { hashToken, createToken } from '../domain/accounts/token.ts'

const ticketMs = 120_000
/** The maximum number of tickets, and of sessions. The oldest ones are dropped first. */
const maxKept = 1000
const ticketParameter = 'board-ticket'
/**
 * The start of a cookie's name; the port follows. Browsers send a cookie to all ports of a host, so each preview receives the cookies of
 * all others.
 */
const cookiePrefix = 'board_preview_'

/** Whether the person who got a ticket still has the permission, with the same sign-in or key. */
export type CanOpen = () => Promise<boolean>

/** A browser that has exchanged a ticket for the preview's cookie. */
export interface PreviewSession {
  canOpen: CanOpen
  /** The account of the machine that redeemed the ticket; undefined if unknown. */
  uid: number | undefined
  /** Connections that end with the session. */
  open: Set<Duplex | ServerResponse>
}

export type Admission = { session: PreviewSession } | { location: string; cookie?: string } | { refusal: string }

interface GateOptions {
  host: string
  ports: readonly number[]
  cardId: number
  uidOf(socket: Socket): Promise<number | undefined>
}

/** Admits browsers to a preview. A browser exchanges a ticket for a cookie, and then sends the cookie. */
export class PreviewGate {
  readonly #options: GateOptions
  readonly #cookieName: string
  readonly #tickets = new Map<string, { canOpen: CanOpen; expiresMs: number }>()
  readonly #sessions = new Map<string, PreviewSession>()

  constructor(options: GateOptions) {
    this.#options = options
    this.#cookieName = `${cookiePrefix}${options.ports[0]}`
  }

  /** The address that opens the preview once, within two minutes of `now`. */
  issue(canOpen: CanOpen, now: Date): { url: string; expiresAt: string } {
    const ticket = createToken('svc_bt_')
    const expiresMs = now.getTime() + ticketMs
    addLimited(this.#tickets, hashToken(ticket), { canOpen, expiresMs })
    const url = `${this.#originOf(this.#options.ports[0]!)}/?${ticketParameter}=${ticket}`
    return { url, expiresAt: new Date(expiresMs).toISOString() }
  }

  async admit(request: IncomingMessage, port: number, now: Date): Promise<Admission> {
    if (!hasOneHost(request, `${this.#options.host}:${port}`))
      return this.#refuse('The address does not match the preview.')
    const { ticket, url } = splitTicket(request.url ?? '')
    const location = this.#originOf(port) + url
    const isNavigation = request.method === 'GET' && ticket !== undefined
    if (isNavigation) {
      const cookie = await this.#redeem(ticket, request, now)
      if (cookie) return { location, cookie }
    }
    if (this.#isForeign(request)) return this.#refuse('Another site sent this request.')
    const session = await this.#sessionOf(request)
    if (session) return isNavigation ? { location } : { session }
    return this.#refuse(
      ticket === undefined ? 'The preview link belongs to another user.' : 'The link was already used or has expired.',
    )
  }

  /** Ends sessions with open connections whose users have signed out or lost the permission. */
  async recheck(): Promise<void> {
    for (const [key, session] of this.#sessions)
      if (session.open.size > 0 && !(await session.canOpen().catch(() => false))) this.#end(key, session)
  }

  #originOf(port: number): string {
    return `http://${this.#options.host}:${port}`
  }

  #refuse(reason: string): Admission {
    const { cardId } = this.#options
    return {
      refusal: `This preview cannot be read. ${reason}\nOpen it on the page of card ${cardId}, or run: board cards preview ${cardId} --open`,
    }
  }

  /** The value of `Set-Cookie`; undefined if the ticket does not open this preview. */
  async #redeem(ticket: string, { socket }: IncomingMessage, now: Date): Promise<string | undefined> {
    const key = hashToken(ticket)
    const found = this.#tickets.get(key)
    this.#tickets.delete(key)
    if (!found || found.expiresMs <= now.getTime() || !(await found.canOpen())) return undefined
    const value = createToken('svc_bt_')
    const uid = await this.#options.uidOf(socket)
    addLimited(this.#sessions, hashToken(value), { canOpen: found.canOpen, uid, open: new Set() })
    // Not Strict: after a click on a board of another site, the browser would follow the redirect without the cookie.
    return `${this.#cookieName}=${value}; Path=/; HttpOnly; SameSite=Lax`
  }

  async #sessionOf({ headers, socket }: IncomingMessage): Promise<PreviewSession | undefined> {
    const values = splitCookies(headers.cookie ?? '')
      .filter(({ name }) => name === this.#cookieName)
      .map(({ value }) => hashToken(value))
    const key = values.find(each => this.#sessions.has(each))
    const session = key === undefined ? undefined : this.#sessions.get(key)
    if (key === undefined || !session) return undefined
    const uid = await this.#options.uidOf(socket)
    // Another account could have received the cookie, because browsers send it to each server on loopback that the user opens.
    if (session.uid !== uid) return undefined
    if (await session.canOpen()) return session
    this.#end(key, session)
    return undefined
  }

  #end(key: string, session: PreviewSession): void {
    this.#sessions.delete(key)
    for (const connection of session.open) connection.destroy()
  }

  /**
   * Whether a page of another origin caused the request. All ports of a host are one site, so `SameSite` does not exclude pages
   * of other accounts. Following a link is allowed from any origin.
   */
  #isForeign({ method, headers }: IncomingMessage): boolean {
    const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers
    if (site === 'same-origin') return false
    if (origin !== undefined) return !this.#options.ports.some(port => this.#originOf(port) === origin)
    if (site === undefined || site === 'none') return false
    return !(method === 'GET' && mode === 'navigate' && destination === 'document')
  }
}

/** Removes the cookies of all previews from a request, so that no preview's program receives them. */
export function removePreviewCookies({ rawHeaders }: IncomingMessage): void {
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at]!.toLowerCase() !== 'cookie') continue
    const others = splitCookies(rawHeaders[at + 1]!).filter(({ name }) => !name.startsWith(cookiePrefix))
    if (others.length === 0) rawHeaders.splice(at, 2)
    else rawHeaders[at + 1] = others.map(({ text }) => text).join('; ')
  }
}

const splitCookies = (header: string): { name: string; value: string; text: string }[] =>
  header
    .split(';')
    .map(each => each.trim())
    .filter(text => text !== '')
    .map(text => {
      const [name = '', ...value] = text.split('=')
      return { name: name.trim(), value: value.join('=').trim(), text }
    })

function hasOneHost({ rawHeaders, headers }: IncomingMessage, host: string): boolean {
  const names = rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === 'host')
  return names.length === 1 && headers.host === host
}

/** The ticket in a path's query, and the path without it. */
function splitTicket(url: string): { ticket: string | undefined; url: string } {
  const at = url.indexOf('?')
  if (at < 0 || !url.startsWith('/')) return { ticket: undefined, url }
  const parameters = url.slice(at + 1).split('&')
  const isTicket = (text: string) => text.startsWith(`${ticketParameter}=`)
  const others = parameters.filter(text => !isTicket(text)).join('&')
  const ticket = parameters.find(isTicket)?.slice(ticketParameter.length + 1)
  return { ticket, url: url.slice(0, at) + (others === '' ? '' : `?${others}`) }
}

function addLimited<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= maxKept) return
    map.delete(oldest)
  }
}
