import type { CardChange } from '../../store/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { noAccount, type Caller } from '../accounts/caller.ts'
import type { CardOrder } from './dependencies.ts'
import { makerFor } from '../accounts/makers.ts'

/** The stored start time of a card, with the permissions of the user who sets it. An agent has no permissions. */
export async function startTimeFields(
  tx: Transaction,
  { startAt }: Pick<CardOrder, 'startAt'>,
  caller: Caller | undefined,
): Promise<Pick<CardChange, 'startAt' | 'startHeld' | 'starterUserId' | 'starterKeyId'>> {
  if (startAt === undefined) return {}
  const startHeld = startAt !== null && startAt > tx.now
  const starter =
    startHeld && caller !== undefined && caller.userId !== noAccount ? await makerFor(tx, caller) : undefined
  return {
    startAt,
    startHeld,
    starterUserId: starter?.makerUserId ?? null,
    starterKeyId: starter?.makerKeyId ?? null,
  }
}
