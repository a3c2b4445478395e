import type { Transaction } from '../engine/database.ts'
import { insertRevocation } from './revocations.ts'

/**
 * Records in the transaction that an account's permissions (undefined: possibly all accounts') must be read again. Listeners of this board
 * are notified after the commit and before any response, other daemons within a second.
 */
export async function noteRightsChanged(tx: Transaction, userId?: number): Promise<void> {
  if (tx.host !== null) await insertRevocation(tx, JSON.stringify({ rightsOf: userId ?? null }))
  tx.afterCommit(() => tx.signals.emit('rights', userId))
}
