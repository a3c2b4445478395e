import type { Database, Transaction } from './database.ts'

/** How long a transaction takes up step after step: others wait for so long, and for one step more. */
const maxMs = 5

/** Does a long work by small steps, in transactions between which others have their turn, until a step has nothing left to do. */
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
