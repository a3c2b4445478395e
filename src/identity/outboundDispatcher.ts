import type { Dispatcher } from 'undici'
import { isLocalOnly, type ServerConfig } from '../config/server.ts'
import { isAdmin } from '../domain/accounts/caller.ts'
import type { EgressPolicy } from '../egress/egressPolicy.ts'
import type { Database } from '../store/engine/database.ts'
import { localOperator, readAccount } from '../store/accounts/users.ts'

/**
 * The undici dispatcher for requests with an account's credentials; undefined if any address is allowed. On a server that others can reach,
 * a plain user's requests reach the public Internet only: otherwise the user could probe the server's own network.
 */
export type OutboundDispatcher = (userId: number) => Promise<Dispatcher | undefined>

export const createOutboundDispatcher =
  ({
    config,
    db,
    egress,
  }: {
    config: ServerConfig
    db: Database
    egress: Pick<EgressPolicy, 'dispatcher'>
  }): OutboundDispatcher =>
  async userId => {
    if (isLocalOnly(config) || userId === localOperator) return undefined
    const account = await readAccount(db, userId)
    return account && isAdmin(account) ? undefined : egress.dispatcher()
  }
