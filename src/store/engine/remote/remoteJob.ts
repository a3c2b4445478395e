import { translateError, type Transaction } from '../database.ts'
import type { Job } from '../jobs.ts'
import { bind, readerOf } from './remoteReader.ts'
import type { RemoteTransaction, Scope } from './remoteTransaction.ts'

/** An executed job. Its outcome becomes known when the transaction that contains it ends. */
export interface Attempt {
  job: Job
  scope: Scope
  result: unknown
  effects: Array<() => void>
}

/** Runs a job in a separate scope. Never throws: a failed job rolls its scope back. */
export async function runJob(
  transaction: RemoteTransaction,
  job: Job,
  { host, ...commit }: { host: string } & Pick<Transaction, 'now' | 'signals'>,
): Promise<Attempt> {
  const scope = transaction.scope()
  const effects: Array<() => void> = []
  let result: unknown
  try {
    result = await job.work({
      ...commit,
      ...readerOf(host, scope.run),
      run: (sql, args = []) => scope.run({ sql, args: bind(args) }),
      enqueue: (sql, args = []) => scope.enqueue({ sql, args: bind(args) }),
      actor: job.actor,
      afterCommit: effect => effects.push(effect),
    })
    scope.keep()
  } catch (error) {
    scope.undo(translateError(error))
  }
  return { job, scope, result, effects }
}
