import type { ColumnFiller } from './agents/columnFiller.ts'
import { removeLeftHomes } from './agents/providers/agentHomes.ts'
import type { Supervisor } from './agents/sessions/agentSupervisor.ts'
import { recover } from './agents/sessions/interruptSessions.ts'
import type { WorktreeCleanup } from './agents/sessions/commands/worktreeCleanup.ts'
import { removeLeftCopies } from './agents/sessions/prompts/promptFiles.ts'
import type { Timer } from './daemons/timer.ts'
import type { GateRunner } from './gates/gateRunner.ts'
import type { LandingRunner } from './gates/landing/landingQueue.ts'
import type { Issues } from './issues/issues.ts'
import type { Notifier } from './notifications/notifier.ts'
import type { Previews } from './previews/previews.ts'
import type { PullRequestLoop } from './pullRequests/pullRequestLoop.ts'
import type { Webhooks } from './webhooks/webhooks.ts'
import { logFor, logFailure } from './config/log.ts'
import type { Logs } from './logs/logs.ts'
import { recoverMonitors, type Monitors } from './monitors/monitors.ts'
import { endLeftovers } from './process/leftovers.ts'
import type { ServerAccess } from './process/reconciler.ts'
import { recoverScripts, type ScriptRunner } from './scripts/runner.ts'
import type { Database } from './store/engine/database.ts'
import type { Worktrees } from './worktrees/worktrees.ts'

/** How processes that run here reach the server. */
export type Reach = Omit<ServerAccess, 'log'>

/** The services that start in stages. */
export interface StartedServices {
  /** Runs the agents, and answers the requests of cards. */
  supervisor: Supervisor
  /** Advances cards into columns with capacity. */
  columnFiller: ColumnFiller
  /** Runs monitors. */
  monitors: Monitors
  /** Runs scripts. */
  scripts: ScriptRunner
  /** Runs gates of cards. */
  gates: GateRunner
  /** Merges the cards of the landing queues. */
  landing: LandingRunner
  /** Serves worktrees. */
  previews: Previews
  /** Runs a project's cleanup command before a worktree is removed. */
  cleanup: WorktreeCleanup
  /** Runs work that is due at a time. */
  timer: Timer
  /** Synchronizes cards and issues of forges. */
  issues: Issues
  /** Keeps agents working on their pull requests. */
  pullRequestLoop: PullRequestLoop
  /** Sends events to receivers. */
  webhooks: Webhooks
  /** Sends notifications to users. */
  notifier: Notifier
}

/** The steps in which the background services start. */
export const stagesOf = (
  {
    supervisor,
    columnFiller,
    monitors,
    scripts,
    gates,
    landing,
    previews,
    cleanup,
    timer,
    issues,
    pullRequestLoop,
    webhooks,
    notifier,
  }: StartedServices,
  db: Database,
  { worktrees, dataDir }: { worktrees: Worktrees; dataDir: string },
  { log }: Logs,
) => ({
  endEarlier: async () => {
    // The rows come first, because later sessions do not belong to an earlier server. Nothing starts before its processes have exited.
    await recover(db, supervisor)
    await recoverMonitors(db)
    await recoverScripts(db)
    await endLeftovers(db)
    await removeLeftCopies(dataDir)
    // Runs before any agent starts: after a restore, a new project can get the number of one that had a home.
    await removeLeftHomes(worktrees, db, dataDir).catch((error: unknown) =>
      logFailure(logFor(log, 'agents'), 'Unused homes of agents could not be removed.', error),
    )
  },
  startRunners: (reach: Reach) => {
    const accessFor = (part: string) => ({ ...reach, log: logFor(log, part) })
    supervisor.start(accessFor('agents'))
    columnFiller.start(accessFor('agents'))
    monitors.start(accessFor('monitors'))
    scripts.start(accessFor('scripts'))
    gates.start(accessFor('gates'))
    landing.start(accessFor('landing'))
    previews.open(accessFor('previews'))
    cleanup.start(accessFor('worktrees'))
    timer.take('machine', logFor(log, 'schedules'))
    issues.start(logFor(log, 'issues'))
    pullRequestLoop.start(logFor(log, 'forge'))
  },
  startNotifiers: () => {
    webhooks.start(logFor(log, 'webhooks'))
    notifier.start(logFor(log, 'notifications'))
    timer.take('board', logFor(log, 'schedules'))
  },
})
