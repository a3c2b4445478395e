/** Runs work in the order in which it was added, one piece after the other, regardless of failures. */
export interface SerialQueue {
  /** Resolves or rejects as `work` does. */
  <T>(work: () => Promise<T> | T): Promise<T>
  /** Resolves when all work added before the call has ended. Never rejects. */
  idle(): Promise<void>
}

/** @param pause runs after each piece of work, before the next */
export function createSerialQueue(pause?: () => Promise<void>): SerialQueue {
  let last: Promise<void> = Promise.resolve()
  const rest = () => pause?.()
  const add = <T>(work: () => Promise<T> | T): Promise<T> => {
    const result = last.then(work)
    last = result.then(rest, rest)
    return result
  }
  return Object.assign(add, { idle: () => last })
}

/** A serial queue for each key. A key without work takes no memory. */
export function createKeyedQueue(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const queues = new Map<string, { add: SerialQueue; length: number }>()
  return async (key, work) => {
    const queue = queues.get(key) ?? { add: createSerialQueue(), length: 0 }
    queues.set(key, queue)
    queue.length++
    try {
      return await queue.add(work)
    } finally {
      if (--queue.length === 0) queues.delete(key)
    }
  }
}
