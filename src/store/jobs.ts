import { Problem } from '../contract/errors.ts'
import { translate, type Reader, type Transaction } from './database.ts'

/** What a commit is made on: the engine's statements inside one open transaction. */
export interface Writer extends Reader {
  run: Transaction['run']
  enqueue: Transaction['enqueue']
  /** Runs a statement that gives nothing. */
  exec(sql: string): void
}

/** Work that waits for its commit. */
export interface Job {
  queuedAtMs: number
  work: (tx: Transaction) => Promise<unknown>
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}
export type Outcome = { job: Job; result: unknown; effects: Array<() => void> } | { job: Job; error: unknown }

export interface JobQueue {
  /** See `Database.transaction`. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Takes no more work, and resolves when what waits is done. */
  close(): Promise<void>
}

interface Committing {
  /** Why nothing is written at present, if that is so. */
  refusal(): Problem | undefined
  /** Does as many of the jobs as fit one commit, settles each of them, and gives those that are still to be done. */
  commitBatch(jobs: readonly Job[]): Promise<readonly Job[]>
  maxJobsPerCommit: number
}

/** Work that waits at the same time shares a commit, and so a sync to disk; each piece is undone alone when it fails. */
export function createJobQueue({ refusal, commitBatch, maxJobsPerCommit }: Committing): JobQueue {
  const queue: Job[] = []
  let draining: Promise<void> | undefined
  let closing = false

  const drain = async () => {
    while (queue.length > 0) {
      // Others get their turn even if who is done queues the next job at once.
      await new Promise(setImmediate)
      queue.unshift(...(await commitBatch(queue.splice(0, maxJobsPerCommit))))
    }
    draining = undefined
  }
  return {
    transaction: <T>(work: (tx: Transaction) => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const problem = closing ? new Problem('SHUTTING_DOWN') : refusal()
        if (problem) return reject(problem)
        queue.push({ queuedAtMs: performance.now(), work, resolve: resolve as (result: unknown) => void, reject })
        draining ??= drain()
      }),
    close: async () => {
      closing = true
      await draining
    },
  }
}

/**
 * Does one job of a commit.
 * @throws what the engine itself failed with: no job of this commit can go on then
 */
export async function attempt(
  writer: Writer,
  job: Job,
  { now, signals }: Pick<Transaction, 'now' | 'signals'>,
): Promise<Outcome> {
  const effects: Array<() => void> = []
  writer.exec('SAVEPOINT job')
  try {
    const result = await job.work({
      host: writer.host,
      get: writer.get,
      all: writer.all,
      run: writer.run,
      enqueue: writer.enqueue,
      now,
      signals,
      afterCommit: effect => effects.push(effect),
    })
    writer.exec('RELEASE job')
    return { job, result, effects }
  } catch (error) {
    const reason = translate(error)
    if (reason instanceof Problem && reason !== error) throw error
    writer.exec('ROLLBACK TO job')
    writer.exec('RELEASE job')
    return { job, error: reason }
  }
}

/** Tells who asked for a job how it ended, once its commit is on disk. */
export function settle(outcome: Outcome): void {
  if ('error' in outcome) return outcome.job.reject(outcome.error)
  for (const effect of outcome.effects) effect()
  outcome.job.resolve(outcome.result)
}
