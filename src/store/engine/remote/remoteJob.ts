import { translate, type Transaction } from '../database.ts'
import type { Job } from '../jobs.ts'
import { createReadAhead } from '../readAhead.ts'
import { bind, readerOf } from './remoteReader.ts'
import type { RemoteTransaction, Scope } from './remoteTransaction.ts'

/** A job of a commit that was executed. Its outcome is known when the transaction has ended. */
export interface Attempt {
  job: Job
  scope: Scope
  result: unknown
  effects: Array<() => void>
}

/** A job that has started while the previous one still writes. Its announced reads run early, the rest in its turn. */
export interface BegunJob {
  /** Resumes the job, once the previous one has ended. */
  resume(): Promise<Attempt>
}

export function beginJob(
  transaction: RemoteTransaction,
  job: Job,
  { host, ...commit }: { host: string } & Pick<Transaction, 'now' | 'signals'>,
): BegunJob {
  const effects: Array<() => void> = []
  const { writer, open } = openWriter(host, transaction)
  const work = async () =>
    job.work({ ...writer, ...commit, actor: job.actor, afterCommit: effect => effects.push(effect) })
  const worked = work()
  worked.catch(() => {
    /* `resume` reports the error. */
  })
  return {
    resume: async () => {
      const scope = open()
      let result: unknown
      try {
        result = await worked
        scope.keep()
      } catch (error) {
        scope.undo(translate(error))
      }
      return { job, scope, result, effects }
    },
  }
}

type Writer = Omit<Transaction, 'now' | 'actor' | 'signals' | 'afterCommit'>

/** The reader and writer of a job. Before `open`, statements wait in the order of their calls. */
function openWriter(host: string, transaction: RemoteTransaction): { writer: Writer; open(): Scope } {
  let scope: Scope | undefined
  const waiting: Array<(scope: Scope) => void> = []
  const inTurn = (work: (scope: Scope) => void) => {
    if (scope) work(scope)
    else waiting.push(work)
  }
  const inTurnAsync = <T>(work: (scope: Scope) => Promise<T>): Promise<T> =>
    scope ? work(scope) : new Promise((resolve, reject) => inTurn(scope => void work(scope).then(resolve, reject)))
  const reads = createReadAhead(host, statement => (scope ? scope.run(statement) : transaction.offer(statement)), bind)
  return {
    writer: {
      ...readerOf(host, statement => inTurnAsync(() => reads.run(statement))),
      ahead: reads.ahead,
      run: async (sql, args = []) => {
        const statement = { sql, args: bind(args) }
        return inTurnAsync(scope => {
          reads.forget()
          return scope.run(statement)
        })
      },
      enqueue: (sql, args = []) => {
        const statement = { sql, args: bind(args) }
        inTurn(scope => {
          reads.forget()
          scope.enqueue(statement)
        })
      },
    },
    open: () => {
      scope = transaction.scope()
      if (!transaction.areOffersGood()) reads.again()
      for (const work of waiting.splice(0)) work(scope)
      return scope
    },
  }
}
