import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Seal } from './seal.ts'

/** The header by which a daemon vouches for the operator of its machine to another daemon on the same database. */
export const forwardTokenHeader = 'x-board-pass'
const label = 'board daemons pass'
/** The header by which a daemon tells another one whose request it passes on: the peer's address. */
export const clientAddressHeader = 'x-board-client'
const clientLabel = 'board daemons client'

/** One request, to one daemon, until a time: milliseconds since 1970. */
export interface ForwardToken {
  method: string
  url: string
  daemonId: string
  expiresAtMs: number
}

/** Vouches for one request. Daemons on one database have the same sealing key, from which the key for this is derived. */
export function signForwardToken(seal: Seal, pass: ForwardToken): string {
  return `${pass.expiresAtMs}.${macOf(seal, pass).toString('base64url')}`
}

/** Whether another daemon vouches for this request to this daemon, now. */
export function isForwardToken(
  seal: Seal,
  text: string,
  { nowMs, ...request }: Omit<ForwardToken, 'expiresAtMs'> & { nowMs: number },
): boolean {
  const [, expires, mac] = /^(\d{13})\.([\w-]{43})$/.exec(text) ?? []
  if (expires === undefined || Number(expires) < nowMs) return false
  return timingSafeEqual(Buffer.from(mac!, 'base64url'), macOf(seal, { ...request, expiresAtMs: Number(expires) }))
}

const macOf = (seal: Seal, { method, url, daemonId, expiresAtMs }: ForwardToken) =>
  createHmac('sha256', seal.derive(label)).update([method, daemonId, expiresAtMs, url].join('\n')).digest()

/** A request that is passed on to a daemon, by what only it has. */
type ForwardedRequest = Pick<ForwardToken, 'method' | 'url' | 'daemonId'>

/** Tells another daemon the address that a request came from. */
export const signClientAddress = (seal: Seal, address: string, request: ForwardedRequest): string =>
  `${clientMacOf(seal, address, request).toString('base64url')} ${address}`

/** The address that a request came from, as another daemon tells this one; undefined where none does. */
export function readClientAddress(seal: Seal, text: string, request: ForwardedRequest): string | undefined {
  const [, mac, address] = /^([\w-]{43}) ([\x21-\x7e]{1,100})$/.exec(text) ?? []
  if (mac === undefined || address === undefined) return undefined
  return timingSafeEqual(Buffer.from(mac, 'base64url'), clientMacOf(seal, address, request)) ? address : undefined
}

const clientMacOf = (seal: Seal, address: string, { method, daemonId, url }: ForwardedRequest) =>
  createHmac('sha256', seal.derive(clientLabel)).update([method, daemonId, address, url].join('\n')).digest()
