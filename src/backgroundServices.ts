import { createColumnFiller } from './agents/columnFiller.ts'
import { createCardWaits, type CardWaits } from './agents/cardWaits.ts'
import { createAgentChecks, type AgentChecks } from './agents/agentChecks.ts'
import { readPriceList } from './agents/pricing/priceList.ts'
import { createCatalogue, type Catalogue } from './agents/providers/providerCatalogue.ts'
import { Supervisor } from './agents/sessions/agentSupervisor.ts'
import { createWorktreeCleanup } from './agents/sessions/commands/worktreeCleanup.ts'
import { logFor } from './config/log.ts'
import type { ServerConfig } from './config/server.ts'
import { folderIn } from './cardWork/repositoryWork.ts'
import type { Duty, Membership } from './daemons/membership.ts'
import { throttle } from './async/throttle.ts'
import type { Outbox } from './events/outbox.ts'
import { createLocalRemote } from './worktrees/localRemote.ts'
import type { RemoteReach } from './git/remoteGit.ts'
import type { DeviceGrants } from './identity/deviceGrants.ts'
import type { OutboundDispatcher } from './identity/outboundDispatcher.ts'
import type { Revocations } from './identity/revocations.ts'
import { gitCredentialOf } from './forge/forgeAccess.ts'
import type { Seal } from './identity/seal.ts'
import type { Logs } from './logs/logs.ts'
import { createMonitors } from './monitors/monitors.ts'
import { createNotifier } from './notifications/notifier.ts'
import { createGuardedConnect } from './egress/guardedConnect.ts'
import type { EgressPolicy } from './egress/egressPolicy.ts'
import { createGateRunner } from './gates/gateRunner.ts'
import { createLandingRunner } from './gates/landing/landingQueue.ts'
import { createPreviews } from './previews/previews.ts'
import { createProcessTrees, type ProcessTrees } from './process/spawn.ts'
import { createWatchdog } from './process/watchdog.ts'
import { createIssues, type Issues } from './issues/issues.ts'
import { openForge } from './forge/openForge.ts'
import type { LoopDependencies } from './pullRequests/loopDependencies.ts'
import { createPullRequestLoop } from './pullRequests/pullRequestLoop.ts'
import { createScriptRunner } from './scripts/runner.ts'
import { createSandbox, type Sandbox } from './sandbox/sandbox.ts'
import { stagesOf, type Reach, type StartedServices } from './serviceStages.ts'
import { dueReminders } from './schedules/dueReminders.ts'
import { dueSchedules } from './schedules/dueSchedules.ts'
import { dueStarts } from './schedules/dueStarts.ts'
import { createTimer } from './daemons/timer.ts'
import type { Database } from './store/engine/database.ts'
import { createWorktrees, type Worktrees } from './worktrees/worktrees.ts'
import { createWebhooks } from './webhooks/webhooks.ts'

/** How long a daemon batches events of others before it checks them for work. */
const debounceMs = 100

/** The background services that run without a request: agents, monitors, scripts, previews, webhooks and notifications. */
export interface BackgroundServices extends StartedServices {
  /** Whether processes might be running in a card's worktree. */
  isAtWork(cardId: number): boolean
  catalogue: Catalogue
  /** How Git reaches other machines. */
  remoteReach: RemoteReach
  /** Runs agents in a sandbox. */
  sandbox: Sandbox
  /** Works on files that agents can change. */
  worktrees: Worktrees
  /** Starts agents on trial. */
  agentChecks: AgentChecks
  /** Requests that wait for agents. */
  cardWaits: CardWaits
  /**
   * Starts agents, monitors, scripts and previews, which use this address; connections from a sandbox go to `acceptForBoard`. With
   * a shared database, this depends on the daemon's duty; `onRelieved` is called when another daemon has taken over a duty.
   */
  startServices(reach: Reach, onRelieved: () => void): void
  /** Stops these services, and webhooks and notifications. */
  stopServices(): Promise<void>
}

type Runners = StartedServices & Pick<BackgroundServices, 'cardWaits'>

interface BackgroundDependencies {
  config: ServerConfig
  logs: Logs
  db: Database
  membership: Membership
  outbox: Outbox
  seal: Seal
  identity: Revocations
  deviceGrants: DeviceGrants
  outboundDispatcher: OutboundDispatcher
  egress: EgressPolicy
}

/** A daemon alone on its database first ends the leftovers of an earlier one. Notifications include the events of the first requests. */
export async function createBackgroundServices(dependencies: BackgroundDependencies): Promise<BackgroundServices> {
  const { config, logs, db, membership, outbox } = dependencies
  const machineDb = membership.databaseFor('machine')
  const { watchdog, processTrees, runners, ...others } = await createRunners(dependencies, machineDb)
  const { supervisor } = runners
  const stages = stagesOf(runners, machineDb, { worktrees: others.worktrees, dataDir: config.dataDir }, logs)
  if (!db.isShared) {
    await stages.endEarlier()
    // Runs before the first request, so that no event is committed before its consumer has started.
    stages.startNotifiers()
  }
  const onDuty = async (duty: Duty, reach: Reach) => {
    if (duty === 'board') return stages.startNotifiers()
    await stages.endEarlier()
    stages.startRunners(reach)
    // Events that other daemons have committed can be work for this one.
    outbox.onAppended(throttle(() => supervisor.wake(), debounceMs))
  }
  return {
    ...others,
    remoteReach: { processTrees, timeoutMs: config.fetchTimeoutMs, local: createLocalRemote(others.worktrees) },
    ...runners,
    startServices: (reach, onRelieved) =>
      db.isShared
        ? membership.start(reach.url, { onDuty: duty => onDuty(duty, reach), onRelieved }, logFor(logs.log, 'daemons'))
        : stages.startRunners(reach),
    stopServices: async () => {
      await Promise.all([others.agentChecks, ...Object.values(runners)].map(each => each.stop()))
      await others.worktrees.close()
      watchdog?.close()
    },
  }
}

/** Opens the forge of each project for issues. */
const openIssues = (
  { config, outbox, deviceGrants, outboundDispatcher }: BackgroundDependencies,
  db: Database,
  agents: Supervisor,
  processTrees: ProcessTrees,
): Issues =>
  createIssues({
    db,
    config,
    outbox,
    agents,
    openForge: project => openForge({ db, deviceGrants, outboundDispatcher, remoteReach: { processTrees } }, project),
  })

/** Creates the background services with their dependencies. */
async function createRunners(dependencies: BackgroundDependencies, machineDb: Database) {
  const { config, logs, membership, outbox, seal, identity, deviceGrants, egress } = dependencies
  const boardDb = membership.databaseFor('board')
  const catalogue = createCatalogue(config.dataDir)
  const watchdog = openWatchdog(config, logs)
  const processTrees = createProcessTrees(machineDb, watchdog)
  const sandbox = createSandbox({ mode: config.sandbox, template: config.sandboxCommand })
  const worktrees = createWorktrees(sandbox)
  const connect = createGuardedConnect(config.lookup)
  const running = { config, db: machineDb, processTrees, catalogue, sandbox, worktrees, connect, deviceGrants, seal }
  const prices = await readPriceList(config.pricesFile)
  const supervisor = new Supervisor({ ...running, prices, revocations: identity })
  const previews = createPreviews({ db: machineDb, processTrees, outbox, config, sandbox, worktrees, connect })
  const checking = { db: machineDb, processTrees, outbox, config, sandbox, worktrees, connect, supervisor }
  const gates = createGateRunner(checking)
  const cleanup = createWorktreeCleanup({ processTrees, config, sandbox, worktrees, connect })
  const landing = createLandingRunner({
    ...checking,
    removal: {
      dataDir: config.dataDir,
      runCleanup: cleanup.run,
      endLate: cardId => supervisor.endLate(cardId),
      isAtWork: cardId => [supervisor, gates, previews].some(each => each.isAtWork(cardId)),
    },
  })
  const webhooks = createWebhooks({ db: boardDb, outbox, seal, config, egress })
  const timer = createTimer({ config, outbox }, [
    dueSchedules({ db: machineDb, agents: supervisor, webhooks, clock: config.clock }),
    dueStarts({ db: machineDb, agents: supervisor, clock: config.clock }),
    dueReminders({ db: boardDb, webhooks, clock: config.clock }),
  ])
  const isAtWork = (cardId: number) => [supervisor, gates, landing, previews].some(each => each.isAtWork(cardId))
  const shared = { supervisor, isAtWork, cleanup, webhooks, processTrees, worktrees }
  const runners: Runners = {
    supervisor,
    columnFiller: createColumnFiller({ db: machineDb, outbox, supervisor }),
    cardWaits: createCardWaits(dependencies.db, outbox),
    monitors: createMonitors({ db: machineDb, processTrees, outbox, config }),
    scripts: createScriptRunner(machineDb, processTrees),
    gates,
    landing,
    previews,
    cleanup,
    timer,
    issues: openIssues(dependencies, machineDb, supervisor, processTrees),
    pullRequestLoop: createPullRequestLoop(loopDependencies(dependencies, machineDb, shared), { config, outbox }),
    webhooks,
    notifier: createNotifier({ db: boardDb, outbox, webhooks }),
  }
  return {
    catalogue,
    watchdog,
    processTrees,
    sandbox,
    worktrees,
    agentChecks: createAgentChecks({ ...running, prices, agents: supervisor }),
    isAtWork,
    runners,
  }
}

/** The dependencies of the pull request loop. */
const loopDependencies = (
  { config, deviceGrants, outboundDispatcher }: BackgroundDependencies,
  db: Database,
  {
    supervisor,
    isAtWork,
    cleanup,
    webhooks,
    processTrees,
    worktrees,
  }: Pick<Runners, 'supervisor' | 'cleanup' | 'webhooks'> &
    Pick<BackgroundServices, 'isAtWork' | 'worktrees'> &
    Pick<RemoteReach, 'processTrees'>,
): LoopDependencies => {
  const forgeDependencies = { db, deviceGrants, outboundDispatcher, remoteReach: { processTrees } }
  return {
    db,
    clock: config.clock,
    agents: supervisor,
    webhooks,
    worktrees,
    dataDir: config.dataDir,
    polling: config.forgePolling,
    openForge: (project, repository) => openForge(forgeDependencies, project, folderIn(project, repository)),
    reachOf: async project => ({
      processTrees,
      timeoutMs: config.fetchTimeoutMs,
      credential: await gitCredentialOf(forgeDependencies, project),
      local: createLocalRemote(worktrees),
    }),
    runCleanup: cleanup.run,
    isAtWork,
  }
}

const openWatchdog = ({ watchdogProgram }: ServerConfig, logs: Logs) =>
  watchdogProgram === undefined ? undefined : createWatchdog(watchdogProgram, logFor(logs.log, 'processes'))
