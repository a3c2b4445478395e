import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Seal } from './seal.ts'

/** The header with which a daemon signs requests of its machine's operator to another daemon on the same database. */
export const forwardTokenHeader = 'x-board-token'
const label = 'board daemons token'
/** The header with the peer's address, which a daemon sends with a forwarded request. */
export const clientAddressHeader = 'x-board-client'
const clientLabel = 'board daemons client'

/** The scope of a forward token: one request, to one daemon, until a time in milliseconds since 1970. */
export interface ForwardToken {
  method: string
  url: string
  daemonId: string
  expiresAtMs: number
}

/** Signs one request, with a key derived from the sealing key, which daemons on one database share. */
export function signForwardToken(seal: Seal, token: ForwardToken): string {
  return `${token.expiresAtMs}.${macOf(seal, token).toString('base64url')}`
}

/** Verifies that another daemon signed this request to this daemon, and that the token has not expired. */
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

/** A forwarded request, identified by its unique parts. */
type ForwardedRequest = Pick<ForwardToken, 'method' | 'url' | 'daemonId'>

/** Signs the original client's address for another daemon. */
export const signClientAddress = (seal: Seal, address: string, request: ForwardedRequest): string =>
  `${clientMacOf(seal, address, request).toString('base64url')} ${address}`

/** Verifies and reads the original client's address from a forwarding daemon's header; undefined if invalid. */
export function readClientAddress(seal: Seal, text: string, request: ForwardedRequest): string | undefined {
  const [, mac, address] = /^([\w-]{43}) ([\x21-\x7e]{1,100})$/.exec(text) ?? []
  if (mac === undefined || address === undefined) return undefined
  return timingSafeEqual(Buffer.from(mac, 'base64url'), clientMacOf(seal, address, request)) ? address : undefined
}

const clientMacOf = (seal: Seal, address: string, { method, daemonId, url }: ForwardedRequest) =>
  createHmac('sha256', seal.derive(clientLabel)).update([method, daemonId, address, url].join('\n')).digest()
