import { setTimeout as delay } from 'node:timers/promises'

const quietMs = 250

/** How far the reading of a process's output is. */
export interface Reading {
  handled: number
  handling: boolean
  ended: boolean
}
export const newReading = (): Reading => ({ handled: 0, handling: false, ended: false })

/** Counts one piece of output, and waits while it is being kept. */
export async function handle(reading: Reading, keeping: void | Promise<void>): Promise<void> {
  reading.handled++
  if (!keeping) return
  reading.handling = true
  await keeping.finally(() => {
    reading.handling = false
  })
}

/** Waits until all is read that a dead process left in its pipe. Its children may hold the pipe open: then until nothing more comes. */
export async function allRead(reading: Reading): Promise<void> {
  for (let before = -1; !reading.ended && (reading.handling || reading.handled !== before);) {
    before = reading.handled
    for (let waitedMs = 0; waitedMs < quietMs && !reading.ended; waitedMs += 10) await delay(10)
  }
}
