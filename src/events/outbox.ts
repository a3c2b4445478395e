import { setTimeout as delay } from 'node:timers/promises'
import type { EventData, EventType } from '../contract/server/events.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import {
  deleteOldestEvents,
  insertEvent,
  readEvents,
  readLastSeq,
  readOldestSeq,
  readProjectEvents,
  type StoredEvent,
} from '../store/server/events.ts'
import { cachedReader } from '../store/engine/cachedReader.ts'

export type { StoredEvent } from '../store/server/events.ts'

const pageSize = 100
const keptMs = 7 * 24 * 60 * 60 * 1000
const keptEvents = 100_000
const maxPrunedAtOnce = 200
const retryMs = 250
/** Pause between reads of a database server under load. A single event is published at once. */
const pauseMs = 20

/** Every event of one database, in order. */
export interface Outbox {
  /**
   * Delivers every event after the seq `after`, by default each one committed from now on: once, in order of seq.
   * @returns the function that unsubscribes
   */
  subscribe(listener: (events: StoredEvent[]) => void, after?: number): () => void
  /**
   * Calls the listener whenever events might have been committed, without reading them. Returns the function that unsubscribes.
   */
  onAppended(listener: () => void): () => void
  /** Up to `limit` events of a project after the `seq` `since`, oldest first. */
  replay(projectId: number, since: number, limit: number): Promise<StoredEvent[]>
  /** The newest event's seq; 0 before the first event. */
  lastSeq(): Promise<number>
  /**
   * The `seq` of the oldest stored event. An earlier cursor, except the one directly before it, has permanently missed events.
   */
  oldestSeq(): Promise<number>
  /** Deletes a limited number of old events that every consumer has processed. @returns the number of deleted events; 0 means done */
  prune(tx: Transaction): Promise<number>
  /** Wakes every subscriber, because another daemon might have committed events. */
  wake(): void
  close(): void
}

/** Appends an event in the transaction of its change. It is published after the commit. */
export async function appendEvent<T extends EventType>(
  tx: Transaction,
  type: T,
  projectId: number | null,
  data: EventData<T>,
): Promise<void> {
  await insertEvent(tx, type, projectId, JSON.stringify(data))
  tx.afterCommit(() => tx.signals.emit('events'))
}

/** The outbox of a database. It reads new events only while there are subscribers. */
export function createOutbox(db: Database): Outbox {
  const subscriptions = new Set<() => void>()
  const reader = cachedReader(db)
  return {
    subscribe: (listener, after) => {
      const stop = startTail(db, listener, after)
      subscriptions.add(stop)
      return () => {
        subscriptions.delete(stop)
        stop()
      }
    },
    onAppended: listener => {
      db.signals.on('events', listener)
      const stop = () => {
        db.signals.off('events', listener)
      }
      subscriptions.add(stop)
      return () => {
        subscriptions.delete(stop)
        stop()
      }
    },
    replay: (projectId, since, limit) => readProjectEvents(db, projectId, since, limit),
    lastSeq: () => readLastSeq(reader),
    oldestSeq: () => readOldestSeq(reader),
    prune: tx =>
      deleteOldestEvents(tx, new Date(Date.parse(tx.now) - keptMs).toISOString(), keptEvents, maxPrunedAtOnce),
    wake: () => {
      db.signals.emit('events')
    },
    close: () => {
      for (const stop of subscriptions) stop()
    },
  }
}

/** Publishes page by page. A failed read is retried, so an event can be late, but is never lost. */
function startTail(db: Database, publish: (events: StoredEvent[]) => void, after?: number): () => void {
  const start = after === undefined ? readLastSeq(db).catch(() => undefined) : undefined
  let seq = after
  const stopped = new AbortController()
  let [isReading, isDue] = [false, false]
  let retry: NodeJS.Timeout | undefined

  const readAppended = async () => {
    isReading = true
    try {
      seq ??= (await start) ?? (await readLastSeq(db))
      while (!stopped.signal.aborted && isDue) {
        isDue = false
        const page = await readEvents(db, seq, pageSize)
        if (stopped.signal.aborted) break
        seq = page.at(-1)?.seq ?? seq
        if (page.length > 0) publish(page)
        if (page.length < pageSize && db.isShared) await delay(pauseMs, undefined, { ref: false })
        if (page.length < pageSize) continue
        isDue = true
        await new Promise(setImmediate)
      }
    } catch {
      if (!stopped.signal.aborted) retry = setTimeout(wake, retryMs)
    }
    isReading = false
  }
  const wake = () => {
    isDue = true
    if (!isReading) void readAppended()
  }

  db.signals.on('events', wake)
  if (after !== undefined) wake()
  return () => {
    stopped.abort()
    db.signals.off('events', wake)
    clearTimeout(retry)
  }
}
