import type { Transaction } from './database.ts'
import { insertRevocation } from './revocations.ts'

/**
 * Notes in the transaction that changes what an account may see (without an account: perhaps everybody) that its rights are to be
 * read anew. Listeners of this board hear it after the commit and before anybody is answered, other daemons within a second.
 */
export async function noteRightsChanged(tx: Transaction, userId?: number): Promise<void> {
  if (tx.host !== null) await insertRevocation(tx, JSON.stringify({ rightsOf: userId ?? null }))
  tx.afterCommit(() => tx.signals.emit('rights', userId))
}
