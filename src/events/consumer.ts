import { createSerialQueue } from '../async/serialQueue.ts'
import type { Database, Reader, Transaction } from '../store/database.ts'
import { readCursor, readLastSeq, writeCursor, type StoredEvent } from '../store/events.ts'
import type { Outbox } from './outbox.ts'

const pageSize = 100
/** How long news is gathered; longer where each look is a question to a server. */
const [gatherMs, sharedGatherMs] = [20, 100]
const retryMs = 1000
const maxUnsavedEvents = 1000

/** Which events a reader wants, and what it does with them. */
export interface EventConsumer {
  /** The next events after `seq` that are wanted at present, oldest first. */
  find(db: Reader, seq: number, limit: number): Promise<StoredEvent[]>
  /** Does what such events call for, in the transaction that remembers them. */
  take(tx: Transaction, events: StoredEvent[]): Promise<void>
}

export interface ConsumerHandle {
  /**
   * Takes everything up to this transaction. A change of what is wanted calls it first, so that the change holds for later
   * events, and for those only, also after a crash.
   */
  catchUp(tx: Transaction): Promise<void>
  stop(): Promise<void>
}

/**
 * Takes every event that is wanted once and in order, whatever happens to the server: what it does with a page is committed
 * together with how far it has come. Events that nobody wants cost no write: how far it has come is noted with the next one
 * that is wanted, or after 1,000. Events are kept until then, so a reader that is given up needs a migration that deletes its
 * cursor. A reader that is new begins with the next event.
 * @param onFailure told when a page could not be taken; it is tried again a second later
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
  const endNews = outbox.onNews(() => workIn(db.isShared ? sharedGatherMs : gatherMs))
  workIn(0)
  return {
    catchUp: async tx => {
      while (await takePage(tx));
    },
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      endNews()
      await queue.idle()
    },
  }
}

/** Takes a page at a time, and knows when there may be one. */
function createPager(
  db: Database,
  name: string,
  { find, take }: EventConsumer,
): { isDue(): Promise<boolean>; takePage(tx: Transaction): Promise<boolean> } {
  /** Everything up to here is taken or wanted by nobody; how much of that is noted. */
  let [position, noted] = [-1, 0]
  return {
    /** The newest event is read first: what is committed later is looked at the next time. */
    isDue: async () => {
      if (position < 0) return true
      const last = await readLastSeq(db)
      if ((await find(db, position, 1)).length > 0) return true
      position = Math.max(position, last)
      return position - noted >= maxUnsavedEvents
    },
    /** Tells whether there may be another page. */
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
