import { setTimeout as delay } from 'node:timers/promises'

const idleMs = 250

/** The progress of reading a process's output. */
export interface OutputReader {
  handled: number
  handling: boolean
  ended: boolean
}
export const createOutputReader = (): OutputReader => ({ handled: 0, handling: false, ended: false })

/** Counts one chunk of output, and waits until it is stored. */
export async function handleChunk(reader: OutputReader, storing: void | Promise<void>): Promise<void> {
  reader.handled++
  if (!storing) return
  reader.handling = true
  await storing.finally(() => {
    reader.handling = false
  })
}

/** Waits until the output of a dead process is read to its end. If its children keep the pipe open, waits until the pipe is idle. */
export async function drainOutput(reader: OutputReader): Promise<void> {
  for (let before = -1; !reader.ended && (reader.handling || reader.handled !== before);) {
    before = reader.handled
    for (let waitedMs = 0; waitedMs < idleMs && !reader.ended; waitedMs += 10) await delay(10)
  }
}
