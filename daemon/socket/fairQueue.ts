/** Returns a function that resolves for its callers in order, `perTick` of them in each tick of the event loop. */
export function createFairQueue(perTick: number): () => Promise<void> {
  const waiting: Array<() => void> = []
  const releaseSome = () => {
    for (const release of waiting.splice(0, perTick)) release()
    if (waiting.length > 0) setImmediate(releaseSome)
  }
  return () =>
    new Promise(resolve => {
      if (waiting.push(resolve) === 1) setImmediate(releaseSome)
    })
}
