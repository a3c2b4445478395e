import { availableParallelism, loadavg } from 'node:os'

/** The time of a small computation in memory on an idle machine. */
const quietMs = 12
/** The factor by which this machine is slower than an idle one: by the number of runnable processes, and by the speed of a processor. */
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

/** Waits until `condition` returns a truthy value, and checks it every few milliseconds. Fails after `timeoutMs`, extended on a busy machine, and names the awaited event. */
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
