import { Problem } from '../../contract/errors.ts'
import { systemActor, translateError, type Actor, type Reader, type Transaction } from './database.ts'

/** The engine's statements inside one open transaction. */
export interface Writer extends Reader {
  run: Transaction['run']
  enqueue: Transaction['enqueue']
  /** Runs a statement without a result. */
  exec(sql: string): void
}

/** A queued write. */
export interface Job {
  queuedAtMs: number
  actor: Actor
  work: (tx: Transaction) => Promise<unknown>
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}
export type Outcome = { job: Job; result: unknown; effects: Array<() => void> } | { job: Job; error: unknown }

export interface JobQueue {
  /** See `Database.transaction`. */
  transaction<T>(work: (tx: Transaction) => Promise<T>, actor?: Actor): Promise<T>
  /** Accepts no more jobs, and resolves when the queue is empty. */
  close(): Promise<void>
}

interface Committing {
  /** Why writes are currently refused. Undefined if they are accepted. */
  refusal(): Problem | undefined
  /** Runs as many jobs as fit into one commit, settles them, and returns the rest. */
  commitBatch(jobs: readonly Job[]): Promise<readonly Job[]>
  maxJobsPerCommit: number
}

/**
 * Group commit: jobs that are queued at the same time share a commit and its sync to disk; a failed job is rolled back
 * alone.
 */
export function createJobQueue({ refusal, commitBatch, maxJobsPerCommit }: Committing): JobQueue {
  const queue: Job[] = []
  let draining: Promise<void> | undefined
  let closing = false

  const drain = async () => {
    while (queue.length > 0) {
      await letQueueFill(() => queue.length, maxJobsPerCommit)
      queue.unshift(...(await commitBatch(queue.splice(0, maxJobsPerCommit))))
    }
    draining = undefined
  }
  return {
    transaction: <T>(work: (tx: Transaction) => Promise<T>, actor = systemActor) =>
      new Promise<T>((resolve, reject) => {
        const problem = closing ? new Problem('SHUTTING_DOWN') : refusal()
        if (problem) return reject(problem)
        queue.push({
          queuedAtMs: performance.now(),
          actor,
          work,
          resolve: resolve as (result: unknown) => void,
          reject,
        })
        draining ??= drain()
      }),
    close: async () => {
      closing = true
      await draining
    },
  }
}

/**
 * Yields while requests that have already arrived queue more jobs. Yields at least once, so that a caller that queues its next job
 * immediately does not starve the others. A commit costs as much as several jobs: with this, 32 clients need two commits instead of five.
 */
async function letQueueFill(count: () => number, max: number): Promise<void> {
  let before: number
  do {
    before = count()
    await new Promise(setImmediate)
  } while (count() > before && count() < max)
}

/** Runs one job of a commit. @throws the engine's own error if the whole commit has failed */
export async function attemptJob(
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
      actor: job.actor,
      signals,
      afterCommit: effect => effects.push(effect),
    })
    writer.exec('RELEASE job')
    return { job, result, effects }
  } catch (error) {
    const reason = translateError(error)
    if (reason instanceof Problem && reason !== error) throw error
    writer.exec('ROLLBACK TO job')
    writer.exec('RELEASE job')
    return { job, error: reason }
  }
}

/** Resolves or rejects a job's promise, once its commit is on disk. */
export function settleJob(outcome: Outcome): void {
  if ('error' in outcome) return outcome.job.reject(outcome.error)
  for (const effect of outcome.effects) effect()
  outcome.job.resolve(outcome.result)
}
