/**
 * Returns a function that runs `work` one run at a time. All calls during a run share the next one, so each call sees a run that started
 * after it.
 */
export function coalesce<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | undefined
  return () =>
    (next ??= running.then(() => {
      next = undefined
      const run = work()
      running = run.catch(() => {
        /* The callers receive the error. */
      })
      return run
    }))
}
