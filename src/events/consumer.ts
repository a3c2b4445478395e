import { createSerialQueue } from '../async/serialQueue.ts'
import type { Database, Reader, Transaction } from '../store/engine/database.ts'
import { readCursor, readLastSeq, writeCursor, type StoredEvent } from '../store/server/events.ts'
import type { Outbox } from './outbox.ts'

const pageSize = 100
/** How long events are batched. The interval is longer if each read is a request to a database server. */
const [batchMs, sharedBatchMs] = [20, 100]
const retryMs = 1000
const maxUnsavedEvents = 1000

/** Selects events and processes them. */
export interface EventConsumer {
  /** The next events after `seq` that currently match, oldest first. */
  find(db: Reader, seq: number, limit: number): Promise<StoredEvent[]>
  /** Processes events in the transaction that advances the cursor. */
  take(tx: Transaction, events: StoredEvent[]): Promise<void>
}

export interface ConsumerHandle {
  /**
   * Processes everything up to this transaction. Call it before changing the selection, so that the change applies
   * exactly to later events, also after a crash.
   */
  catchUp(tx: Transaction): Promise<void>
  stop(): Promise<void>
}

/**
 * Processes every selected event exactly once and in order, across crashes: a page's effects and the cursor are committed
 * together. Events outside of the selection cost no write: the cursor advances with the next selected event, or after 1,000.
 * Unread events are kept, so removing a consumer requires a migration that deletes its cursor. A new consumer starts with the
 * next event.
 * @param onFailure called when a page failed; it is retried a second later
 */
export function startConsumer(
  { db, outbox }: { db: Database; outbox: Outbox },
  name: string,
  consumer: EventConsumer,
  onFailure: (error: unknown) => void,
): ConsumerHandle {
  const { isDue, takePage } = createPager(db, name, consumer)
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  const queue = createSerialQueue()
  const work = async () => {
    try {
      while (!stopped && (await isDue()) && (await db.transaction(takePage)));
    } catch (error) {
      onFailure(error)
      workIn(retryMs)
    }
  }
  const workIn = (afterMs: number) => {
    if (!stopped)
      timer ??= setTimeout(() => {
        timer = undefined
        void queue(work)
      }, afterMs)
  }
  const stopListening = outbox.onAppended(() => workIn(db.isShared ? sharedBatchMs : batchMs))
  workIn(0)
  return {
    catchUp: async tx => {
      while (await takePage(tx));
    },
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      stopListening()
      await queue.idle()
    },
  }
}

/** Processes a page at a time, and reports whether another might be due. */
function createPager(
  db: Database,
  name: string,
  { find, take }: EventConsumer,
): { isDue(): Promise<boolean>; takePage(tx: Transaction): Promise<boolean> } {
  /** The cursor in memory, up to which every event is processed or not selected, and the stored cursor. */
  let [position, noted] = [-1, 0]
  return {
    /** Reads the newest seq first, so that events that are committed during the search are due the next time. */
    isDue: async () => {
      if (position < 0) return true
      const last = await readLastSeq(db)
      if ((await find(db, position, 1)).length > 0) return true
      position = Math.max(position, last)
      return position - noted >= maxUnsavedEvents
    },
    /** @returns whether there might be another page */
    takePage: async tx => {
      const last = await readLastSeq(tx)
      const events = await find(tx, (await readCursor(tx, name)) ?? last, pageSize)
      if (events.length > 0) await take(tx, events)
      const isFull = events.length === pageSize
      const seq = isFull ? events.at(-1)!.seq : last
      await writeCursor(tx, name, seq)
      tx.afterCommit(() => {
        position = noted = seq
      })
      return isFull
    },
  }
}
