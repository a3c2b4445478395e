import type { App } from '../../src/app.ts'
import type { Contract } from '../../src/contract/index.ts'
import { createKey, getKey, keysOf, revokeKey, rotateKey } from '../../src/identity/keys.ts'
import { key, newKey } from '../../src/views/keys.ts'
import type { Handlers } from '../http/handlers.ts'

/** Answers that hold a key go past `call.write`: an Idempotency-Key would store them in clear. */
export const keysRoutes = ({ db, identity }: App): Handlers<Contract['keys']> => ({
  list: async (_, { caller }) => (await keysOf(db, caller)).map(key),
  create: async (input, { caller, db }) => newKey(await db.transaction(tx => createKey(tx, caller, input))),
  get: async ({ id }, { caller }) => key(await getKey(db, caller, id)),
  revoke: ({ id }, { caller, write }) =>
    write(
      tx => revokeKey(identity, tx, caller, id),
      () => undefined,
    ),
  rotate: async ({ id, graceSecs }, { caller, db }) =>
    newKey(await db.transaction(tx => rotateKey(identity, tx, caller, id, graceSecs))),
})
