import { createCatalogue, type Catalogue } from './agents/providers/providerCatalogue.ts'
import { createSupervisor, recover, type Supervisor } from './agents/sessions/agentSupervisor.ts'
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
import type { EgressPolicy } from './egress/egressPolicy.ts'
import { endLeftovers } from './process/leftovers.ts'
import { createScriptRunner, recoverScripts, type ScriptRunner } from './scripts/runner.ts'
import type { Database } from './store/database.ts'
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts'

/** How soon a daemon looks whether an event of another one is work for it. */
const gatherMs = 100

/** What goes on without a request, and tells others of what happens. */
export interface Work {
  catalogue: Catalogue
  /** Runs the agents; what cards ask of it, too. */
  supervisor: Supervisor
  /** Runs monitors. */
  monitors: Monitors
  /** Runs scripts. */
  scripts: ScriptRunner
  /** Tells receivers what happens. */
  webhooks: Webhooks
  /** Tells people what they want to hear of. */
  notifier: Notifier
  /**
   * Takes up agents, monitors and scripts, which reach the server at this address. With a shared database it does so while this
   * daemon has the duty; `onRelieved` is called when another one has taken a duty over.
   */
  startWork(url: string, onRelieved: () => void): void
  /** Ends it, and what tells others of events. */
  stopWork(): Promise<void>
}

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

/** Alone on its database, a daemon ends first what an earlier one left, and tells of every event from the first request on. */
export async function createWork(parts: Parts): Promise<Work> {
  const { config, logs, db, membership, outbox, seal, identity, deviceGrants, egress } = parts
  const [machineDb, boardDb] = [membership.databaseFor('machine'), membership.databaseFor('board')]
  const catalogue = createCatalogue(config.dataDir)
  const supervisor = createSupervisor({ config, db: machineDb, catalogue, deviceGrants, revocations: identity })
  const monitors = createMonitors({ db: machineDb, outbox, config })
  const scripts = createScriptRunner(machineDb)
  const webhooks = createWebhooks({ db: boardDb, outbox, seal, config, egress })
  const notifier = createNotifier({ db: boardDb, outbox, webhooks })
  const stages = stagesOf({ supervisor, monitors, scripts, webhooks, notifier }, machineDb, logs)
  if (!db.isShared) {
    await stages.endEarlier()
    // Before the first request, so that no event is committed that its reader does not know of.
    stages.startNotifiers()
  }
  const onDuty = async (duty: Duty, url: string) => {
    if (duty === 'board') return stages.startNotifiers()
    await stages.endEarlier()
    stages.startRunners(url)
    // What other daemons have committed may be work for this one.
    outbox.onNews(throttle(supervisor.wake, gatherMs))
  }
  return {
    catalogue,
    supervisor,
    monitors,
    scripts,
    webhooks,
    notifier,
    startWork: (url, onRelieved) =>
      db.isShared
        ? membership.start(url, { onDuty: duty => onDuty(duty, url), onRelieved }, from(logs.log, 'daemons'))
        : stages.startRunners(url),
    stopWork: async () => {
      await Promise.all([supervisor.stop(), monitors.stop(), scripts.stop(), notifier.stop(), webhooks.stop()])
    },
  }
}

const stagesOf = (
  {
    supervisor,
    monitors,
    scripts,
    webhooks,
    notifier,
  }: Pick<Work, 'supervisor' | 'monitors' | 'scripts' | 'webhooks' | 'notifier'>,
  db: Database,
  { log }: Logs,
) => ({
  endEarlier: async () => {
    // First the rows, for those that are made from now on are not an earlier server's. Nothing begins before its processes are gone.
    await recover(db, supervisor)
    await recoverMonitors(db)
    await recoverScripts(db)
    await endLeftovers(db)
  },
  startRunners: (url: string) => {
    supervisor.start(url, from(log, 'agents'))
    monitors.start(url, from(log, 'monitors'))
    scripts.start(url, from(log, 'scripts'))
  },
  startNotifiers: () => {
    webhooks.start(from(log, 'webhooks'))
    notifier.start(from(log, 'notifications'))
  },
})
