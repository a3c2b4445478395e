import type { IncomingMessage } from 'node:http'
import type { App } from '../../src/app.ts'
import type { Peer } from '../../src/config/peer.ts'
import type { Voucher } from '../../src/identity/authenticate.ts'
import { clientHeader, isPass, passHeader, readClient } from '../../src/identity/passes.ts'

/** Tells whether another daemon on the same database vouches for a request that it forwards. */
export const voucherOf = ({ db, seal, membership }: App, { headers, method, url }: IncomingMessage): Voucher => {
  const token = headers[passHeader]
  return db.isShared && typeof token === 'string'
    ? () => isPass(seal, token, { method: method!, url: url!, daemonId: membership.id, nowMs: Date.now() })
    : undefined
}

/** The address that a request comes from, also where another daemon on the same database forwards it. */
export function clientAddress(
  { db, seal, membership }: App,
  { headers, method, url }: IncomingMessage,
  peer: Peer,
): string {
  const client = headers[clientHeader]
  const forwarded =
    db.isShared && typeof client === 'string'
      ? readClient(seal, client, { method: method!, url: url!, daemonId: membership.id })
      : undefined
  return forwarded ?? peer.address
}
