import { retry } from '../../async/retry.ts'
import { Problem } from '../../contract/errors.ts'
import type { Database, Transaction } from './database.ts'

const retryMs = 250
const busyTimeoutMs = 10_000

/**
 * Retries a write until it succeeds, through a busy database or a full disk. For records of events that have already happened.
 * @param onWait called before each retry, with the code
 * @throws Problem SHUTTING_DOWN
 */
export function writeWithRetry<T>(
  db: Database,
  work: (tx: Transaction) => Promise<T>,
  onWait: (code: string) => void,
): Promise<T> {
  const delayMs = (error: unknown) => {
    if (!(error instanceof Problem) || !(error.code === 'DATABASE_BUSY' || error.code === 'DISK_FULL')) return undefined
    onWait(error.code)
    return retryMs
  }
  return retry(() => db.transaction(work), { delayMs })
}

/**
 * Retries while another program locks the database, because a lock of some seconds must not prevent a start.
 * @param work must be repeatable
 * @throws errors of `work`; Problem DATABASE_BUSY after ten seconds
 */
export function retryWhileBusy<T>(work: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + busyTimeoutMs
  return retry(work, { delayMs: error => (isBusy(error) && performance.now() < giveUpAt ? retryMs : undefined) })
}

const isBusy = (error: unknown): boolean => error instanceof Problem && error.code === 'DATABASE_BUSY'
