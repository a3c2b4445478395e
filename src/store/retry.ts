import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../contract/errors.ts'
import type { Database, Transaction } from './database.ts'

const retryMs = 250
const busyTimeoutMs = 10_000

/**
 * Writes until it succeeds: a busy database or a full disk is waited for. For what has happened already and must be kept.
 * @param onWait told each time, with the code
 * @throws Problem SHUTTING_DOWN
 */
export function writeWithRetry<T>(
  db: Database,
  work: (tx: Transaction) => Promise<T>,
  onWait: (code: string) => void,
): Promise<T> {
  return again(
    () => db.transaction(work),
    ({ code }) => code === 'DATABASE_BUSY' || code === 'DISK_FULL',
    onWait,
  )
}

/**
 * Does what is about to happen again while another program holds the database: a lock of some seconds keeps nobody from starting.
 * @param work may be done again when it was cut short by a refusal of the database
 * @throws what `work` throws; Problem DATABASE_BUSY after ten seconds
 */
export function retryWhileBusy<T>(work: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + busyTimeoutMs
  return again(work, ({ code }) => code === 'DATABASE_BUSY' && performance.now() < giveUpAt)
}

async function again<T>(
  work: () => Promise<T>,
  passes: (problem: Problem) => boolean,
  onWait: (code: string) => void = () => {},
): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Problem && passes(error))) throw error
      onWait(error.code)
      await delay(retryMs)
    }
  }
}
