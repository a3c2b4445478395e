import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../contract/errors.ts'
import type { Database, Transaction } from './database.ts'

const retryMs = 250

/**
 * Writes until it succeeds: a busy database or a full disk is waited for. For what has happened already and must be kept.
 * @param onWait told each time, with the code
 * @throws Problem SHUTTING_DOWN
 */
export async function insist<T>(db: Database, work: (tx: Transaction) => Promise<T>, onWait: (code: string) => void): Promise<T> {
  for (;;) {
    try {
      return await db.transaction(work)
    } catch (error) {
      if (!(error instanceof Problem && (error.code === 'DATABASE_BUSY' || error.code === 'DISK_FULL'))) throw error
      onWait(error.code)
      await delay(retryMs)
    }
  }
}
