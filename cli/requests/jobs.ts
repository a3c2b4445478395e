import { createSerialQueue } from '../../src/async/serialQueue.ts'

/** Jobs that run one after the other, so that their output is not mixed. The first failure ends them. */
export interface Jobs {
  add(work: () => Promise<unknown>): void
  /** Rejects with the first failure; no job runs after it. */
  failed: Promise<never>
  /** Resolves when everything that was added has run. */
  end(): Promise<void>
}

export function createJobs(): Jobs {
  const queue = createSerialQueue()
  let hasFailed = false
  let add: Jobs['add']
  const failed = new Promise<never>((_, reject) => {
    add = work =>
      void queue(async () => {
        if (!hasFailed) await work()
      }).catch((error: unknown) => {
        hasFailed = true
        reject(error)
      })
  })
  failed.catch(() => {
    /* Callers can ignore this promise. */
  })
  return { add: add!, failed, end: queue.idle }
}
