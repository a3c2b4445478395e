import type { Socket } from 'node:net'
import { createAgentChecks, type AgentChecks } from './agents/agentChecks.ts'
import { createCatalogue, type Catalogue } from './agents/providers/providerCatalogue.ts'
import { createSupervisor, recover, type Supervisor } from './agents/sessions/agentSupervisor.ts'
import { createWorktreeCleanup, type WorktreeCleanup } from './agents/sessions/worktreeCleanup.ts'
import { removeLeftCopies } from './agents/sessions/promptFiles.ts'
import { from } from './config/log.ts'
import type { ServerConfig } from './config/server.ts'
import type { Duty, Membership } from './daemons/membership.ts'
import { throttle } from './async/throttle.ts'
import type { Outbox } from './events/outbox.ts'
import type { DeviceGrants } from './identity/deviceGrants.ts'
import type { Revocations } from './identity/revocations.ts'
import type { Seal } from './identity/seal.ts'
import type { Logs } from './logs/logs.ts'
import { createMonitors, recoverMonitors, type Monitors } from './monitors/monitors.ts'
import { createNotifier, type Notifier } from './notifications/notifier.ts'
import { createGuardedConnect } from './egress/guardedConnect.ts'
import type { EgressPolicy } from './egress/egressPolicy.ts'
import { createPreviews, type Previews } from './previews/previews.ts'
import { endLeftovers } from './process/leftovers.ts'
import { createProcessTrees } from './process/spawn.ts'
import { createWatchdog } from './process/watchdog.ts'
import { createScriptRunner, recoverScripts, type ScriptRunner } from './scripts/runner.ts'
import { createSandbox, type Sandbox } from './sandbox/sandbox.ts'
import type { Database } from './store/database.ts'
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts'

/** How long a daemon gathers events of others before it checks whether they are work for it. */
const debounceMs = 100

/** How what runs here reaches the server. */
export interface Reach {
  url: string
  acceptForBoard(socket: Socket): void
}

/** What runs without a request: agents, monitors, scripts, previews, webhooks and notifications. */
export interface Work {
  catalogue: Catalogue
  /** Keeps agents apart. */
  sandbox: Sandbox
  /** Starts agents on trial. */
  agentChecks: AgentChecks
  /** Runs the agents; what cards ask of it, too. */
  supervisor: Supervisor
  /** Runs monitors. */
  monitors: Monitors
  /** Runs scripts. */
  scripts: ScriptRunner
  /** Serves worktrees. */
  previews: Previews
  /** Runs what projects say is to run before a worktree is removed. */
  cleanup: WorktreeCleanup
  /** Tells receivers what happens. */
  webhooks: Webhooks
  /** Tells people what they want to hear of. */
  notifier: Notifier
  /**
   * Takes up agents, monitors, scripts and previews, which reach the server at this address; connections out of a sandbox go to `acceptForBoard`. With a shared database it does so while this
   * daemon has the duty; `onRelieved` is called when another one has taken a duty over.
   */
  startWork(reach: Reach, onRelieved: () => void): void
  /** Ends it, with webhooks and notifications. */
  stopWork(): Promise<void>
}

type Runners = Pick<Work, 'supervisor' | 'monitors' | 'scripts' | 'previews' | 'cleanup' | 'webhooks' | 'notifier'>

interface Parts {
  config: ServerConfig
  logs: Logs
  db: Database
  membership: Membership
  outbox: Outbox
  seal: Seal
  identity: Revocations
  deviceGrants: DeviceGrants
  egress: EgressPolicy
}

/** Alone on its database, a daemon first ends what an earlier one left, and notifies of every event from the first request on. */
export async function createWork(parts: Parts): Promise<Work> {
  const { config, logs, db, membership, outbox, seal, identity, deviceGrants, egress } = parts
  const [machineDb, boardDb] = [membership.databaseFor('machine'), membership.databaseFor('board')]
  const catalogue = createCatalogue(config.dataDir)
  const watchdog = openWatchdog(config, logs)
  const processTrees = createProcessTrees(machineDb, watchdog)
  const sandbox = createSandbox({ mode: config.sandbox, template: config.sandboxCommand })
  const connect = createGuardedConnect(config.lookup)
  const running = { config, db: machineDb, processTrees, catalogue, sandbox, connect, deviceGrants, seal }
  const supervisor = createSupervisor({ ...running, revocations: identity })
  const agentChecks = createAgentChecks(running)
  const monitors = createMonitors({ db: machineDb, processTrees, outbox, config })
  const scripts = createScriptRunner(machineDb, processTrees)
  const previews = createPreviews({ db: machineDb, processTrees, outbox, config, sandbox, connect })
  const cleanup = createWorktreeCleanup({ processTrees, config, sandbox, connect })
  const webhooks = createWebhooks({ db: boardDb, outbox, seal, config, egress })
  const notifier = createNotifier({ db: boardDb, outbox, webhooks })
  const runners = { supervisor, monitors, scripts, previews, cleanup, webhooks, notifier }
  const stages = stagesOf(runners, machineDb, config.dataDir, logs)
  if (!db.isShared) {
    await stages.endEarlier()
    // Before the first request, so that no event is committed that its reader does not know of.
    stages.startNotifiers()
  }
  const onDuty = async (duty: Duty, reach: Reach) => {
    if (duty === 'board') return stages.startNotifiers()
    await stages.endEarlier()
    stages.startRunners(reach)
    // What other daemons have committed may be work for this one.
    outbox.onAppended(throttle(supervisor.wake, debounceMs))
  }
  return {
    catalogue,
    sandbox,
    agentChecks,
    ...runners,
    startWork: (reach, onRelieved) =>
      db.isShared
        ? membership.start(reach.url, { onDuty: duty => onDuty(duty, reach), onRelieved }, from(logs.log, 'daemons'))
        : stages.startRunners(reach),
    stopWork: async () => {
      await Promise.all([agentChecks, ...Object.values(runners)].map(each => each.stop()))
      watchdog?.close()
    },
  }
}

const openWatchdog = ({ watchdogProgram }: ServerConfig, logs: Logs) =>
  watchdogProgram === undefined ? undefined : createWatchdog(watchdogProgram, from(logs.log, 'processes'))

const stagesOf = (
  { supervisor, monitors, scripts, previews, cleanup, webhooks, notifier }: Runners,
  db: Database,
  dataDir: string,
  { log }: Logs,
) => ({
  endEarlier: async () => {
    // First the rows, for those that are made from now on are not an earlier server's. Nothing begins before its processes are gone.
    await recover(db, supervisor)
    await recoverMonitors(db)
    await recoverScripts(db)
    await endLeftovers(db)
    await removeLeftCopies(dataDir)
  },
  startRunners: ({ url, acceptForBoard }: Reach) => {
    supervisor.start(url, from(log, 'agents'), acceptForBoard)
    monitors.start(url, from(log, 'monitors'))
    scripts.start(url, from(log, 'scripts'))
    previews.open(url, from(log, 'previews'), acceptForBoard)
    cleanup.open(url, from(log, 'worktrees'), acceptForBoard)
  },
  startNotifiers: () => {
    webhooks.start(from(log, 'webhooks'))
    notifier.start(from(log, 'notifications'))
  },
})
