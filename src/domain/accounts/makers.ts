import type { Transaction } from '../../store/engine/database.ts'
import type { Maker } from '../../store/accounts/makers.ts'
import { ownerFor } from '../../store/accounts/users.ts'
import type { Caller } from './caller.ts'

/** The owner of automatic work that runs with the caller's permissions. */
export const makerFor = async (tx: Transaction, { userId, key }: Caller): Promise<Maker> => ({
  makerUserId: await ownerFor(tx, userId),
  makerKeyId: key?.id ?? null,
})
