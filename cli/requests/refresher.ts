import { coalesce } from '../../src/async/coalesce.ts'
import { exitOf } from '../failures/failure.ts'
import type { Outage } from './outage.ts'

/** Refreshes on demand, one run at a time. If the server does not respond, the next refresh retries. */
export interface Refresher {
  again(): void
  /** Rejects with the first failure. */
  failed: Promise<never>
}

export function createRefresher(refresh: () => Promise<void>, outage?: Outage): Refresher {
  const run = coalesce(async () => {
    await refresh()
    outage?.end()
  })
  let again: () => void
  const failed = new Promise<never>((_, reject) => {
    again = () =>
      void run().catch((error: unknown) => {
        if (exitOf(error) === 'unreachable') outage?.begin()
        else reject(error)
      })
  })
  return { again: again!, failed }
}
