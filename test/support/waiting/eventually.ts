import { availableParallelism, loadavg } from 'node:os'

/** How long a quiet machine takes for a little work in memory and for nothing else. */
const quietMs = 12
/** How many times as long as on a quiet machine things may take here now: by the processes that want a processor, and by how much of one there is. */
export const slowdown = (): number => Math.max(1, loadavg()[0]! / availableParallelism(), paceMs() / quietMs)

const paceKeptMs = 20_000
let pace = { ms: 0, at: -Infinity }

function paceMs(): number {
  const startedAt = performance.now()
  if (startedAt - pace.at < paceKeptMs) return pace.ms
  JSON.stringify(
    JSON.parse(JSON.stringify(Array.from({ length: 20_000 }, (_, number) => ({ number, text: `number ${number}` })))),
  )
  pace = { ms: performance.now() - startedAt, at: startedAt }
  return pace.ms
}

/** Waits until `condition` gives something true, looking every few milliseconds; fails after `timeoutMs`, or as much longer as the machine is busy by then, and says what was awaited. */
export async function eventually<T>(
  what: string,
  condition: () => T | Promise<T>,
  timeoutMs = 20_000,
): Promise<NonNullable<T>> {
  const beganAt = Date.now()
  for (;;) {
    const result = await condition()
    if (result) return result
    const waitedMs = Date.now() - beganAt
    if (waitedMs > timeoutMs && waitedMs > timeoutMs * slowdown())
      throw new Error(`Waited ${waitedMs} ms in vain for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
