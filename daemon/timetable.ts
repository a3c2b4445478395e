import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../src/app.ts'
import { sweepAttachments } from '../src/domain/attachmentFiles.ts'
import { purge as purgeDeletedCards } from '../src/domain/cards.ts'
import { removeDeleted as removeDeletedWorktrees } from '../src/domain/worktrees.ts'
import { forgetAgentTokens } from '../src/store/agentTokens.ts'
import type { Transaction } from '../src/store/database.ts'
import { forgetAnswers } from '../src/store/idempotentAnswers.ts'
import { forgetSignInTokens } from '../src/store/signInTokens.ts'
import { purgeMessages } from '../src/store/transcripts.ts'
import { removeUnfinished } from '../src/transfers/import.ts'
import type { Log } from './log.ts'

/** Something that the server does from time to time. */
export interface Job {
  name: string
  everySecs: number
  /** Does what is due by the clock of the configuration. */
  run(signal: AbortSignal): Promise<void>
}

const hourSecs = 3600
const daySecs = 24 * hourSecs

/** Every periodic job of the server. */
export const jobs = (app: App): Job[] => [
  { name: 'delete events that need not be kept', everySecs: 600, run: signal => repeat(signal, () => app.db.transaction(tx => app.outbox.prune(tx))) },
  { name: 'forget idempotent answers after a day', everySecs: hourSecs, run: () => app.db.transaction(tx => forgetAnswers(tx, ago(tx, daySecs))) },
  { name: 'forget sign-in tokens a day after their end', everySecs: hourSecs, run: () => app.db.transaction(tx => forgetSignInTokens(tx, ago(tx, daySecs))) },
  { name: 'forget agent tokens a day after their end', everySecs: hourSecs, run: () => app.db.transaction(tx => forgetAgentTokens(tx, ago(tx, daySecs))) },
  { name: 'remove cards that were deleted over 30 days ago', everySecs: hourSecs, run: async signal => {
    await repeat(signal, () => app.db.transaction(tx => purgeMessages(tx, ago(tx, 30 * daySecs), 500)))
    try {
      await removeDeletedWorktrees(app.db, new Date(app.config.clock().getTime() - 30 * daySecs * 1000).toISOString(), app.config.dataDir)
    } finally {
      await repeat(signal, () => app.db.transaction(purgeDeletedCards))
    }
  } },
  { name: 'delete what imports of an earlier server left unfinished', everySecs: daySecs, run: () => removeUnfinished(app.db, app.unfinishedImports) },
  { name: 'delete attachment files without a row', everySecs: hourSecs, run: async () => { await sweepAttachments(app) } },
]

/** Runs every job now, and again so many seconds after it has ended: none overlaps itself, and none stops another. */
export function startTimetable(app: App, log: Log, timetable = jobs(app)): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const keep = async ({ name, everySecs, run }: Job) => {
    while (!signal.aborted) {
      await run(signal).catch((error: unknown) => log('error', `A periodic job failed: ${name}.`, { cause: error instanceof Error ? error.stack : String(error) }))
      await delay(everySecs * 1000, undefined, { signal, ref: false }).catch(() => { /* The server stops. */ })
    }
  }
  const running = timetable.map(keep)
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

/** Does bounded pieces of work until there is nothing left to do. */
async function repeat(signal: AbortSignal, work: () => Promise<number>): Promise<void> {
  while (!signal.aborted && await work() > 0);
}

const ago = (tx: Transaction, secs: number) => new Date(Date.parse(tx.now) - secs * 1000).toISOString()
