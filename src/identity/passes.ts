import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Seal } from './seal.ts'

/** The header by which a daemon vouches for the operator of its machine to another daemon on the same database. */
export const passHeader = 'x-board-pass'
const label = 'board daemons pass'

/** One request, to one daemon, until a time: milliseconds since 1970. */
export interface Pass {
  method: string
  url: string
  daemonId: string
  expiresAtMs: number
}

/** Vouches for one request. Daemons on one database have the same sealing key, from which the key for this is derived. */
export function signPass(seal: Seal, pass: Pass): string {
  return `${pass.expiresAtMs}.${macOf(seal, pass).toString('base64url')}`
}

/** Whether another daemon vouches for this request to this daemon, now. */
export function isPass(
  seal: Seal,
  text: string,
  { nowMs, ...request }: Omit<Pass, 'expiresAtMs'> & { nowMs: number },
): boolean {
  const [, expires, mac] = /^(\d{13})\.([\w-]{43})$/.exec(text) ?? []
  if (expires === undefined || Number(expires) < nowMs) return false
  return timingSafeEqual(Buffer.from(mac!, 'base64url'), macOf(seal, { ...request, expiresAtMs: Number(expires) }))
}

const macOf = (seal: Seal, { method, url, daemonId, expiresAtMs }: Pass) =>
  createHmac('sha256', seal.derive(label)).update([method, daemonId, expiresAtMs, url].join('\n')).digest()
