/**
 * Makes a function that lets its callers go on one after the other, so many in a turn of the event loop: who asks for something
 * meanwhile is answered in between, however many have much to be sent.
 */
export function createFairQueue(perTick: number): () => Promise<void> {
  const waiting: Array<() => void> = []
  const turn = () => {
    for (const goOn of waiting.splice(0, perTick)) goOn()
    if (waiting.length > 0) setImmediate(turn)
  }
  return () =>
    new Promise(resolve => {
      if (waiting.push(resolve) === 1) setImmediate(turn)
    })
}
