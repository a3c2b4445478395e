import { setTimeout as delay } from 'node:timers/promises'
import { exitOf } from '../failures/failure.ts'
import type { Out } from '../output/output.ts'
import { stdout } from '../output/streams.ts'
import { watchOutage } from './outage.ts'

const pollMs = 1000
const maxWaitMs = 10_000

/** A list whose entries have growing ids. */
interface Pages<Entry> {
  maxAtOnce: number
  /** Returns the entries after an ID, oldest first. */
  read(after: number): Promise<readonly Entry[]>
  print(entry: Entry): Promise<void>
}

/** Prints new entries until stdout is closed. Retries while the server does not respond. */
export async function followPages<Entry extends { id: string }>(
  out: Out,
  after: number,
  { maxAtOnce, read, print }: Pages<Entry>,
): Promise<void> {
  let [last, waitMs, isOpen] = [after, pollMs, true]
  const outage = watchOutage(out)
  stdout().on('error', () => {
    isOpen = false
  })
  while (isOpen) {
    await delay(waitMs)
    try {
      const entries = await read(last)
      for (const entry of entries) await print(entry)
      last = Number(entries.at(-1)?.id ?? last)
      outage.end()
      waitMs = entries.length === maxAtOnce ? 0 : pollMs
    } catch (error) {
      if (exitOf(error) !== 'unreachable') throw error
      outage.begin()
      waitMs = Math.min(Math.max(waitMs, pollMs) * 2, maxWaitMs)
    }
  }
  outage.stop()
}
