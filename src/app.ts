import { rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { makePrivateFolder } from './config/folders.ts'
import { createCatalogue, type Catalogue } from './agents/catalogue.ts'
import { createSupervisor, recover, type Supervisor } from './agents/supervisor.ts'
import { openBackups, type Backups } from './backups/backups.ts'
import { openData } from './backups/opening.ts'
import type { Host } from './backups/restoring.ts'
import { finishState, removeRubbish } from './backups/swap.ts'
import { causeOf, from } from './config/log.ts'
import type { ServerConfig } from './config/server.ts'
import { Problem } from './contract/errors.ts'
import { watchOtherDaemons } from './events/otherDaemons.ts'
import { createOutbox, type Outbox } from './events/outbox.ts'
import { createDeviceGrants, type DeviceGrants } from './identity/deviceGrants.ts'
import { createIdentity, type Identity } from './identity/identity.ts'
import { createOidc, type Oidc } from './identity/oidc.ts'
import { createSeal, sealingKeyOf, type Seal } from './identity/seal.ts'
import { readLogExport, targetOf } from './logs/exportSettings.ts'
import type { Logs } from './logs/logs.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import { createMonitors, recoverMonitors, type Monitors } from './monitors/monitors.ts'
import { createWayOut, type WayOut } from './identity/wayOut.ts'
import { createNotifier, type Notifier } from './notifications/notifier.ts'
import { createTargets, type Targets } from './outside/targets.ts'
import { createScriptRunner, recoverScripts, type ScriptRunner } from './scripts/runner.ts'
import { createMembership, type Duty, type Membership } from './daemons/membership.ts'
import type { Database } from './store/database.ts'
import { hiddenProjects } from './store/imports.ts'
import { peerReader, type Peer } from './config/peer.ts'
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts'

/** The board, wired: what handlers are given. */
export interface App {
  config: ServerConfig
  logs: Logs
  db: Database
  outbox: Outbox
  identity: Identity
  seal: Seal
  deviceGrants: DeviceGrants
  wayOut: WayOut
  oidc: Oidc
  catalogue: Catalogue
  metrics: Metrics
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
  backups: Backups
  host: Host
  /** Where attachments are kept. */
  attachmentsDir: string
  /** Where exports and imports are while they are under way. */
  transfersDir: string
  /** The projects of imports that an earlier server did not finish. */
  unfinishedImports: readonly number[]
  peerOf(request: IncomingMessage): Peer
  /** This daemon among those that share its database. */
  membership: Membership
  /**
   * Takes up what goes on without a request: agents, monitors, scripts, which reach the server at this address. With a shared
   * database it does so while this daemon has the duty; `onRelieved` is called when another one has taken a duty over.
   */
  startWork(url: string, onRelieved: () => void): void
  /** Ends it, and what tells others of events. */
  stopWork(): Promise<void>
  close(): Promise<void>
}

/** What the board gets from whoever runs it, and from one that it takes the place of. */
export interface Surroundings { host?: Host; localToken?: string }

/** Opens the data folder, brings the database up to date and wires every part to those it needs. */
export async function createApp(config: ServerConfig, logs: Logs, { host = nobody, localToken }: Surroundings = {}): Promise<App> {
  makePrivateFolder(config.dataDir)
  await finishState(config.dataDir)
  const tidied = removeRubbish(config.dataDir).catch((error: unknown) => from(logs.log, 'backups')('warn', 'What an earlier restore has left could not be removed.', { cause: causeOf(error) }))
  const seal = createSeal(config)
  const { attachmentsDir, transfersDir } = openFolders(config)
  const db = await openData(config, from(logs.log, 'database'))
  await exportLog({ db, seal, logs })
  const outbox = createOutbox(db)
  const endWatch = config.database && watchOtherDaemons(db, config.database, outbox.wake)
  const identity = await createIdentity(config, db, localToken)
  const targets = createTargets({ allowPrivate: config.allowPrivateWebhooks, lookup: config.lookup })
  const wayOut = createWayOut({ config, db, targets })
  const deviceGrants = createDeviceGrants({ config, db, seal, wayOut })
  const oidc = createOidc({ config, db, identity, seal })
  const metrics = createMetrics()
  const membership = createMembership(db, config)
  const work = await createWork({ config, logs, db, membership, outbox, seal, identity, deviceGrants, targets })
  const source = { databasePath: join(config.dataDir, 'board.db'), attachmentsDir, sealingKey: () => sealingKeyOf(config) }
  const backups = await openBackups({ dataDir: config.dataDir, source, clock: config.clock, log: from(logs.log, 'backups') })
  return {
    config, logs, db, outbox, identity, seal, deviceGrants, wayOut, oidc, metrics, membership, ...work, backups, host, attachmentsDir, transfersDir, unfinishedImports: db.isShared ? [] : await hiddenProjects(db), peerOf: peerReader(config),
    close: async () => {
      await Promise.all([work.stopWork(), backups.close(), deviceGrants.close()])
      await membership.stop()
      await targets.close()
      endWatch?.()
      outbox.close()
      identity.close()
      await db.close()
      await tidied
    },
  }
}

/** What goes on without a request, and tells others of what happens. What an earlier server left of it is ended first. */
async function createWork({ config, logs, db, membership, outbox, seal, identity, deviceGrants, targets }: Pick<App, 'config' | 'logs' | 'db' | 'membership' | 'outbox' | 'seal' | 'identity' | 'deviceGrants'> & { targets: Targets }) {
  const [machineDb, boardDb] = [membership.databaseFor('machine'), membership.databaseFor('board')]
  const catalogue = createCatalogue(config.dataDir)
  const supervisor = createSupervisor({ config, db: machineDb, catalogue, deviceGrants, revocations: identity })
  const monitors = createMonitors({ db: machineDb, outbox, config })
  const scripts = createScriptRunner(machineDb)
  const webhooks = createWebhooks({ db: boardDb, outbox, seal, config, targets })
  const notifier = createNotifier({ db: boardDb, outbox, webhooks })
  const endEarlier = async () => {
    await recover(machineDb, supervisor)
    await recoverMonitors(machineDb)
    await recoverScripts(machineDb)
  }
  const start = {
    machine: (url: string) => {
      supervisor.start(url, from(logs.log, 'agents'))
      monitors.start(url, from(logs.log, 'monitors'))
      scripts.start(url, from(logs.log, 'scripts'))
    },
    board: () => {
      webhooks.start(from(logs.log, 'webhooks'))
      notifier.start(from(logs.log, 'notifications'))
    },
  }
  if (!db.isShared) {
    await endEarlier()
    // Before the first request, so that no event is committed that its reader does not know of.
    start.board()
  }
  const onDuty = async (duty: Duty, url: string) => {
    if (duty === 'board') return start.board()
    await endEarlier()
    start.machine(url)
    // What other daemons have committed may be work for this one.
    outbox.onNews(() => supervisor.wake())
  }
  return {
    catalogue, supervisor, monitors, scripts, webhooks, notifier,
    startWork: (url: string, onRelieved: () => void) => db.isShared ? membership.start(url, { onDuty: duty => onDuty(duty, url), onRelieved }, from(logs.log, 'daemons')) : start.machine(url),
    stopWork: async () => { await Promise.all([supervisor.stop(), monitors.stop(), scripts.stop(), notifier.stop(), webhooks.stop()]) },
  }
}

/** What was under way when an earlier server ended is worth nothing. */
function openFolders({ dataDir }: ServerConfig): { attachmentsDir: string; transfersDir: string } {
  const folders = { attachmentsDir: join(dataDir, 'attachments'), transfersDir: join(dataDir, 'transfers') }
  rmSync(folders.transfersDir, { recursive: true, force: true })
  makePrivateFolder(folders.attachmentsDir)
  makePrivateFolder(folders.transfersDir)
  return folders
}

/** A board that nobody serves is not replaced while it is open. */
const nobody: Host = { replace: () => Promise.reject(new Problem('CONFLICT', 'The board is not being served.')) }

/** Sends the log where the settings say. A header that cannot be opened keeps the export off, not the server. */
async function exportLog({ db, seal, logs }: Pick<App, 'db' | 'seal' | 'logs'>): Promise<void> {
  const settings = await readLogExport(db)
  try {
    logs.exporter.use(settings.enabled ? targetOf(seal, settings) : undefined)
  } catch (error) {
    logs.log('error', 'The log is not exported.', { cause: (error as Error).message })
  }
}
