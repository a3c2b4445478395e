import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../../contract/errors.ts'
import type { Database } from '../../store/database.ts'
import { Drafts } from './pendingMessages.ts'
import { readUpdate } from '../acp/parseUpdate.ts'
import { writeBatch, type TranscriptSession } from './transcriptWriter.ts'
import type { RawUpdate } from '../link/agentLink.ts'

const gatherMs = 50
const retryMs = 250
/** With this much waiting, the agent is not read any further until it is written. */
const mostWaiting = 256
const mostWaitingLength = 512 * 1024

/** Takes in what an agent says in one session and keeps it, gathered for about 50 ms, with an event for each message that is new or has changed. */
export interface Transcript {
  /** Takes an update in. A promise means that there is no room for more until it resolves. It rejects when nothing can be kept any more: the session is gone, or the server stops. */
  take(update: RawUpdate): void | Promise<void>
  /** Ends the messages that are being told, as at the end of a turn, and resolves when everything is kept. Rejects as `take` does. */
  settle(): Promise<void>
}

/** Opens the transcript of a session that is in the database. `secrets` are left out of what is kept. */
export function openTranscript(db: Database, session: TranscriptSession, secrets: readonly string[] = []): Transcript {
  const drafts = new Drafts()
  let failure: { error: unknown } | undefined
  let writing: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined

  const writeOnce = async (everything: boolean): Promise<void> => {
    if (!failure && !drafts.isEmpty)
      failure = await keep(db, session, drafts.take(performance.now(), everything), secrets)
    if (failure) drafts.forget()
  }
  /** Writes what is due, or everything, after what is being written. */
  const write = (everything: boolean): Promise<void> => (writing = writing.then(() => writeOnce(everything)))
  const finish = async () => {
    await write(true)
    if (failure) throw failure.error
  }
  const writeSoon = () => {
    if (!drafts.isEmpty)
      timer ??= setTimeout(async () => {
        timer = undefined
        await write(false)
        writeSoon()
      }, gatherMs)
  }

  return {
    take: update => {
      if (failure) return Promise.reject(failure.error)
      drafts.add(readUpdate(update))
      writeSoon()
      return drafts.waiting >= mostWaiting || drafts.waitingLength >= mostWaitingLength ? finish() : undefined
    },
    settle: () => {
      drafts.endAll()
      return finish()
    },
  }
}

/** Writes until it is written: a full disk or a busy database is waited for. Gives the failure that does not pass. */
async function keep(...batch: Parameters<typeof writeBatch>): Promise<{ error: unknown } | undefined> {
  for (;;) {
    try {
      await writeBatch(...batch)
      return undefined
    } catch (error) {
      if (!(error instanceof Problem && (error.code === 'DATABASE_BUSY' || error.code === 'DISK_FULL')))
        return { error }
      await delay(retryMs)
    }
  }
}
