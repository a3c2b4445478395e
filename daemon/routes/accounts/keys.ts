import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { createKey, getKey, keysOf, revokeKey, rotateKey } from '../../../src/identity/keys.ts'
import { key, newKey } from '../../../src/views/keys.ts'
import type { Handlers } from '../../http/handlers.ts'

/**
 * Responses with a key bypass `call.write`, which stores the responses of requests with an Idempotency-Key in plain
 * text.
 */
export const keysRoutes = ({ db, identity }: Pick<App, 'db' | 'identity'>): Handlers<Contract['keys']> => ({
  list: async (_, { caller }) => (await keysOf(db, caller)).map(key),
  create: async (input, { caller, db }) => newKey(await db.transaction(tx => createKey(tx, caller, input))),
  get: async ({ id }, { caller }) => key(await getKey(db, caller, id)),
  revoke: ({ id }, { caller, write }) => write(tx => revokeKey(identity, tx, caller, id)),
  rotate: async ({ id, graceSecs }, { caller, db }) =>
    newKey(await db.transaction(tx => rotateKey(identity, tx, caller, id, graceSecs))),
})
