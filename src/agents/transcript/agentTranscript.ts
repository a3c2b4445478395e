import { createSerialQueue } from '../../async/serialQueue.ts'
import type { Database } from '../../store/engine/database.ts'
import { parseUpdate } from '../acp/parseUpdate.ts'
import type { RawUpdate } from '../link/agentLink.ts'
import { PendingMessages } from './pendingMessages.ts'
import { writeBatch, type TranscriptSession } from './transcriptWriter.ts'

const batchMs = 50
/** If more than this is unwritten, the agent's output is not read until it is written (backpressure). */
const maxUnwritten = 256
const maxUnwrittenLength = 512 * 1024

/**
 * Writes the updates of one session: the first at once, then in batches of about 50 ms, with an event for each new or changed
 * message.
 */
export interface Transcript {
  /**
   * Adds an update. A returned promise is backpressure. The promise rejects if the transcript can no longer be written: the
   * session was deleted, or the server stops.
   */
  add(update: RawUpdate): void | Promise<void>
  /** Resolves when everything is written. The last messages can still grow. Rejects like `add`. */
  flush(): Promise<void>
  /** Ends all messages, as before another turn, and resolves when everything is written. Rejects like `add`. */
  finishMessages(): Promise<void>
}

/** Opens the transcript of a session that is in the database. */
export function openTranscript(db: Database, session: TranscriptSession): Transcript {
  const pending = new PendingMessages()
  let failure: { error: unknown } | undefined
  const queue = createSerialQueue()
  let timer: NodeJS.Timeout | undefined
  let writtenAt = -Infinity

  const writeOnce = async (everything: boolean): Promise<void> => {
    if (!failure && !pending.isEmpty)
      failure = await writeBatch(db, session, pending.take(performance.now(), everything)).then(
        () => undefined,
        error => ({ error }),
      )
    if (failure) pending.clear()
  }
  /** Writes the due messages, or all of them, after the current write. */
  const write = (everything: boolean): Promise<void> => queue(() => writeOnce(everything))
  const writeAll = async () => {
    await write(true)
    if (failure) throw failure.error
  }
  const scheduleWrite = () => {
    if (!pending.isEmpty)
      timer ??= setTimeout(
        async () => {
          timer = undefined
          writtenAt = performance.now()
          await write(false)
          scheduleWrite()
        },
        // An update after a pause is written at once.
        Math.max(0, writtenAt + batchMs - performance.now()),
      )
  }

  return {
    add: update => {
      if (failure) return Promise.reject(failure.error)
      pending.add(parseUpdate(update))
      scheduleWrite()
      return pending.count >= maxUnwritten || pending.length >= maxUnwrittenLength ? writeAll() : undefined
    },
    flush: writeAll,
    finishMessages: () => {
      pending.endAll()
      return writeAll()
    },
  }
}
