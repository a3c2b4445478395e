/**
 * Makes a function that resolves for its callers in order, `perTick` of them in a tick of the event loop, so that other work of
 * the server runs in between.
 */
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
