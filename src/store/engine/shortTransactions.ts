import type { Database, Transaction } from './database.ts'

/** The time for which a transaction starts further steps. Others wait for this time, and for one more step. */
const maxMs = 5

/**
 * Runs long work in small steps, each in its own transaction, so that others can write in between. Ends when a step has
 * nothing left to do.
 */
export async function inShortTransactions(
  db: Pick<Database, 'transaction'>,
  step: (tx: Transaction) => Promise<number>,
  signal?: AbortSignal,
): Promise<void> {
  const steps = async (tx: Transaction) => {
    const endMs = performance.now() + maxMs
    let done: number
    do done = await step(tx)
    while (done > 0 && performance.now() < endMs)
    return done > 0
  }
  while (!signal?.aborted && (await db.transaction(steps)));
}
