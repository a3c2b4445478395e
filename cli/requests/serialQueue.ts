/** Work that is done one after the other, so that nothing gets mixed. */
export interface SerialQueue {
  add(work: () => Promise<unknown>): void
  /** Rejects with the first failure; what was added after it is not done. */
  failed: Promise<never>
  /** Resolves when everything that was added is done. */
  end(): Promise<void>
}

export function createSerialQueue(): SerialQueue {
  let fail: (error: unknown) => void = () => {
    /* set at once */
  }
  let hasFailed = false
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  failed.catch(() => {
    /* Whoever waits for it is told. */
  })
  let last: Promise<void> = Promise.resolve()
  const next = async (before: Promise<void>, work: () => Promise<unknown>) => {
    await before
    if (hasFailed) return
    try {
      await work()
    } catch (error) {
      hasFailed = true
      fail(error)
    }
  }
  return {
    failed,
    end: () => last,
    add: work => {
      last = next(last, work)
    },
  }
}
