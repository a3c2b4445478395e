import type { IncomingMessage } from 'node:http'
import type { App } from '../../src/app.ts'
import type { Peer } from '../../src/identity/peer.ts'
import type { ForwardCheck } from '../../src/identity/authenticate.ts'
import {
  clientAddressHeader,
  isForwardToken,
  forwardTokenHeader,
  readClientAddress,
} from '../../src/identity/forwardTokens.ts'

/** Returns a function that checks whether another daemon on the same database has signed a forwarded request. */
export const forwardCheckOf = (
  { db, seal, membership }: Pick<App, 'db' | 'seal' | 'membership'>,
  { headers, method, url }: IncomingMessage,
): ForwardCheck => {
  const token = headers[forwardTokenHeader]
  return db.isShared && typeof token === 'string'
    ? () => isForwardToken(seal, token, { method: method!, url: url!, daemonId: membership.id, nowMs: Date.now() })
    : undefined
}

/** The address of the original client, also for a forwarded request. */
export function clientAddress(
  { db, seal, membership }: Pick<App, 'db' | 'seal' | 'membership'>,
  { headers, method, url }: IncomingMessage,
  peer: Peer,
): string {
  const client = headers[clientAddressHeader]
  const forwarded =
    db.isShared && typeof client === 'string'
      ? readClientAddress(seal, client, { method: method!, url: url!, daemonId: membership.id })
      : undefined
  return forwarded ?? peer.address
}
