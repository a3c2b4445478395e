import type { Transaction } from './database.ts'
import { insertRevocation } from './revocations.ts'

/** Is told whose rights have changed; undefined: perhaps everybody's. */
type Listener = (userId: number | undefined) => void
const listeners = new Set<Listener>()

/**
 * In the transaction that changes what an account may see: whoever keeps something open for it is told when the change is on
 * disk and before anybody is answered, daemons on other machines within a second. A commit does not say in which database it
 * was made, so the listener looks for itself.
 */
export async function noteRightsChanged(tx: Transaction, userId?: number): Promise<void> {
  if (tx.host !== null) await insertRevocation(tx, JSON.stringify({ rightsOf: userId ?? null }))
  tx.afterCommit(() => {
    for (const listener of listeners) listener(userId)
  })
}

/** Calls the listener for each change that this process commits. Returns the function that ends it. */
export function onRightsChanged(listener: Listener): () => void {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}
