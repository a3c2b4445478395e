import type { Database, Transaction } from '../store/database.ts'
import { readCursor, readEvents, readLastSeq, writeCursor, type StoredEvent } from '../store/events.ts'
import type { Outbox } from './outbox.ts'

const pageSize = 100
const retryMs = 1000

/**
 * Takes every event of the database once and in order, whatever happens to the server: what it does with a page is committed
 * together with how far it has come. A reader that is new begins with the next event.
 * @param take gets a page of events in the transaction that remembers them
 * @param onFailure told when a page could not be taken; the same page is tried again
 */
export function startReader({ db, outbox }: { db: Database; outbox: Outbox }, name: string, take: (tx: Transaction, events: StoredEvent[]) => Promise<void>, onFailure: (error: unknown) => void): { stop(): Promise<void> } {
  let stopped = false
  let news = true
  let retry: NodeJS.Timeout | undefined
  let working: Promise<void> | undefined

  const takePage = (): Promise<number> => db.transaction(async tx => {
    const known = await readCursor(tx, name)
    if (known === undefined) {
      await writeCursor(tx, name, await readLastSeq(tx))
      return 0
    }
    const events = await readEvents(tx, known, pageSize)
    if (events.length === 0) return 0
    await take(tx, events)
    await writeCursor(tx, name, events.at(-1)!.seq)
    return events.length
  })
  const work = async () => {
    while (news && !stopped) {
      news = false
      try {
        news = await takePage() === pageSize || news
      } catch (error) {
        onFailure(error)
        if (!stopped) retry = setTimeout(wake, retryMs)
      }
    }
  }
  const wake = () => {
    clearTimeout(retry)
    retry = undefined
    news = true
    working ??= work().finally(() => {
      working = undefined
      if (news && !stopped && !retry) wake()
    })
  }

  const unsubscribe = outbox.subscribe(wake)
  wake()
  return {
    stop: async () => {
      stopped = true
      clearTimeout(retry)
      unsubscribe()
      await working
    },
  }
}
