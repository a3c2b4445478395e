import type { Dispatcher } from 'undici'
import { isLocalOnly, type ServerConfig } from '../config/server.ts'
import { isAdmin } from '../domain/caller.ts'
import type { EgressPolicy } from '../egress/egressPolicy.ts'
import type { Database } from '../store/database.ts'
import { localOperator, readAccount } from '../store/users.ts'

/**
 * Through what the requests go that somebody's credentials cause; undefined when they may go anywhere. On a server that others
 * reach, a plain user's lead to the public Internet only: the server's own network is not the user's to look at.
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
