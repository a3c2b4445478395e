import type { Transaction } from '../store/database.ts'
import type { Maker } from '../store/makers.ts'
import { ownerFor } from '../store/users.ts'
import type { Caller } from './caller.ts'

/** The caller as the owner of automatic work with the caller's rights. */
export const makerFor = async (tx: Transaction, { userId, key }: Caller): Promise<Maker> => ({
  makerUserId: await ownerFor(tx, userId),
  makerKeyId: key?.id ?? null,
})
