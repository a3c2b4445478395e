import { join } from 'node:path'
import type { App } from '../../src/app.ts'
import { removeUnusedHomes } from '../../src/agents/providers/agentHomes.ts'
import { scheduledBackups } from '../../src/backups/schedule.ts'
import { purge as purgeDeletedCards } from '../../src/domain/cards/cardRemoval.ts'
import { removeOrphanedWorktrees } from '../../src/cardWork/removeOrphanedWorktrees.ts'
import { indexPendingCards } from '../../src/domain/cards/search.ts'
import { dropDeletedSnapshots } from '../../src/cardWork/reviewSnapshots.ts'
import { removeDeleted as removeDeletedWorktrees } from '../../src/cardWork/removeWorktree.ts'
import { forgetAgentTokens } from '../../src/store/agents/agentTokens.ts'
import { auditDays, maxKeptFailures } from '../../src/identity/audit.ts'
import type { Duty } from '../../src/daemons/membership.ts'
import { pruneAudit } from '../../src/store/server/audit.ts'
import { findDamage } from '../../src/store/engine/databaseCopy.ts'
import type { Database, Transaction } from '../../src/store/engine/database.ts'
import { forgetDeliveries } from '../../src/store/automation/deliveries.ts'
import { forgetForgeDeliveries } from '../../src/store/forges/forgeWebhooks.ts'
import { giveBackPages } from '../../src/store/engine/reclaimPages.ts'
import { forgetAnswers } from '../../src/store/server/idempotentAnswers.ts'
import { forgetProjectDays, noteProjectDays } from '../../src/store/projects/projectDays.ts'
import { forgetOauth } from '../../src/store/accounts/oauthServer.ts'
import { inShortTransactions } from '../../src/store/engine/shortTransactions.ts'
import { forgetSignInTokens } from '../../src/store/accounts/signInTokens.ts'
import { purgeTranscripts } from '../../src/store/agents/transcripts.ts'
import { removeUnfinished } from '../../src/transfers/import.ts'

/** A periodic job. */
export interface Job {
  name: string
  everySecs: number
  /** The lease that a daemon must hold to run the job if several daemons share the database. Without a duty, every daemon runs the job. */
  duty?: Duty
  /** The wait before its first run. */
  firstAfterSecs?: number
  /** Runs the due work by the configuration's clock. */
  run(signal: AbortSignal): Promise<void>
}

const hourSecs = 3600
const daySecs = 24 * hourSecs
const rareSecs = 600
const logDays = 30
/** The number of rows to delete and pages to return per step of about a millisecond. */
const [stepRows, stepPages] = [100, 25]

type BoardDependencies = Pick<App, 'audit' | 'backups' | 'config' | 'outbox' | 'webhooks'>
type MachineDependencies = Pick<
  App,
  'cleanup' | 'config' | 'membership' | 'merges' | 'isAtWork' | 'monitors' | 'scripts' | 'supervisor' | 'worktrees'
>
type OwnDependencies = Pick<App, 'attachmentFiles' | 'config' | 'db' | 'logs'>
export type JobDependencies = BoardDependencies & MachineDependencies & OwnDependencies

/** Every periodic job of the server. */
export const periodicJobs = (app: JobDependencies): Job[] => {
  const [board, machine] = [app.membership.databaseFor('board'), app.membership.databaseFor('machine')]
  return [...boardJobs(app, board), ...expiryJobs(app, board), ...machineJobs(app, machine), ...ownJobs(app)]
}

/** The jobs that one daemon runs for the whole board. */
const boardJobs = (app: BoardDependencies, board: Database): Job[] => [
  {
    name: 'delete old events',
    everySecs: 600,
    duty: 'board',
    run: signal => inShortTransactions(board, tx => app.outbox.prune(tx), signal),
  },
  { name: 'send due webhook deliveries', everySecs: 1, duty: 'board', run: () => app.webhooks.sendDue() },
  {
    name: 'index new and changed cards',
    everySecs: 5,
    duty: 'board',
    run: signal => indexPendingCards(board, Infinity, signal),
  },
  {
    name: 'record daily project statistics',
    everySecs: 600,
    duty: 'board',
    run: () =>
      board.transaction(async tx => {
        await noteProjectDays(tx, tx.now.slice(0, 10))
        await forgetProjectDays(tx, ago(tx, 3 * 365 * daySecs).slice(0, 10))
      }),
  },
  ...(app.config.backupEvery === undefined
    ? []
    : [
        {
          name: 'create a backup and delete the oldest',
          everySecs: 30,
          duty: 'board' as const,
          run: scheduledBackups(app),
        },
      ]),
]

/** Jobs that delete expired records. */
const expiryJobs = (app: Pick<App, 'config' | 'supervisor'>, board: Database): Job[] => [
  {
    name: 'delete webhook deliveries 30 days after their end',
    everySecs: hourSecs,
    duty: 'board',
    run: signal => inShortTransactions(board, tx => forgetDeliveries(tx, ago(tx, 30 * daySecs), stepRows), signal),
  },
  {
    name: 'delete forge deliveries after a week',
    everySecs: hourSecs,
    duty: 'board',
    run: signal => inShortTransactions(board, tx => forgetForgeDeliveries(tx, ago(tx, 7 * daySecs), stepRows), signal),
  },
  {
    name: 'delete idempotent responses after a day',
    everySecs: hourSecs,
    duty: 'board',
    run: () => board.transaction(tx => forgetAnswers(tx, ago(tx, daySecs))),
  },
  {
    name: 'delete sign-in tokens a day after their end',
    everySecs: hourSecs,
    duty: 'board',
    run: () => board.transaction(tx => forgetSignInTokens(tx, ago(tx, daySecs))),
  },
  {
    name: 'delete agent tokens a day after their end',
    everySecs: hourSecs,
    duty: 'board',
    run: () => board.transaction(tx => forgetAgentTokens(tx, ago(tx, daySecs))),
  },
  {
    name: 'delete app grants a day after they expire, and apps without a grant within a day',
    everySecs: hourSecs,
    duty: 'board',
    run: () =>
      board.transaction(tx =>
        forgetOauth(tx, {
          ended: ago(tx, daySecs),
          unusedSince: ago(tx, daySecs),
          idleSince: ago(tx, 90 * daySecs),
        }),
      ),
  },
  {
    name: 'purge cards without a worktree 30 days after their deletion',
    everySecs: hourSecs,
    duty: 'board',
    run: async signal => {
      const deletedBefore = new Date(app.config.clock().getTime() - 30 * daySecs * 1000).toISOString()
      await purgeTranscripts(board, { deletedBefore }, signal)
      await inShortTransactions(board, tx => purgeDeletedCards(tx, app.supervisor), signal)
    },
  },
  forgetAudit(board),
]

/** The jobs that one daemon runs for its machine. */
const machineJobs = (app: MachineDependencies, machine: Database): Job[] => [
  {
    name: 'reconcile monitors with their processes',
    everySecs: 1,
    duty: 'machine',
    run: () => app.monitors.reconcile(),
  },
  { name: 'stop deleted scripts', everySecs: 1, duty: 'machine', run: async () => app.scripts.check() },
  {
    name: 'remove the worktrees of cards that were deleted over 30 days ago, and the commits that their reviews keep',
    everySecs: hourSecs,
    duty: 'machine',
    run: async () => {
      const before = new Date(app.config.clock().getTime() - 30 * daySecs * 1000).toISOString()
      await dropDeletedSnapshots(machine, before)
      await removeDeletedWorktrees(app.worktrees, machine, before, app.config.dataDir, app.cleanup.run)
    },
  },
  {
    name: 'remove worktrees of projects and boards that were deleted',
    everySecs: 300,
    duty: 'machine',
    run: () =>
      removeOrphanedWorktrees(machine, {
        places: app.config,
        isAtWork: app.isAtWork,
        runCleanup: app.cleanup.run,
        worktrees: app.worktrees,
      }),
  },
  {
    name: 'check that branches contain the merges of cards',
    everySecs: 60,
    duty: 'machine',
    run: () => app.merges.ofAll(),
  },
  {
    name: 'remove the homes of agents whose project, credential or profile was deleted',
    everySecs: 60,
    duty: 'machine',
    run: () =>
      removeUnusedHomes(app.worktrees, machine, app.config.dataDir, folder => app.supervisor.usesFolder(folder)),
  },
  {
    name: 'delete unfinished imports of a stopped server',
    everySecs: 60,
    duty: 'machine',
    run: () => removeUnfinished(machine, app.membership.id),
  },
]

/** The jobs that each daemon runs for itself. */
const ownJobs = (app: OwnDependencies): Job[] => [
  ...(app.db.isShared
    ? []
    : [
        {
          name: 'check the database file',
          everySecs: daySecs,
          firstAfterSecs: 60,
          run: (signal: AbortSignal) => lookForDamage(app, signal),
        },
        {
          name: 'return freed pages to the file system',
          everySecs: rareSecs,
          firstAfterSecs: 60,
          run: (signal: AbortSignal) => inShortTransactions(app.db, tx => giveBackPages(tx, stepPages), signal),
        },
      ]),
  {
    name: 'delete log entries after 30 days',
    everySecs: rareSecs,
    firstAfterSecs: 60,
    run: signal =>
      app.logs.prune(signal, new Date(app.config.clock().getTime() - logDays * daySecs * 1000).toISOString()),
  },
  {
    name: 'delete attachment files without a row',
    everySecs: hourSecs,
    run: async () => {
      await app.attachmentFiles.sweep(app.db)
    },
  },
]

const forgetAudit = (board: Database): Job => ({
  name: `delete entries of the audit log after ${auditDays} days`,
  everySecs: hourSecs,
  duty: 'board',
  run: signal =>
    inShortTransactions(
      board,
      tx => pruneAudit(tx, { before: ago(tx, auditDays * daySecs), maxFailures: maxKeptFailures, limit: stepRows }),
      signal,
    ),
})

/** Refuses writes from now on if the database file is damaged. */
async function lookForDamage({ db, config }: Pick<App, 'db' | 'config'>, signal: AbortSignal): Promise<void> {
  const damage = await findDamage(join(config.dataDir, 'board.db'), false, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  if (damage !== undefined) db.markCorrupt(new Error(damage))
}

const ago = (tx: Transaction, secs: number) => new Date(Date.parse(tx.now) - secs * 1000).toISOString()
