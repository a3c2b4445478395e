import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { makePrivateFolder } from './config/folders.ts'
import { createCatalogue, type Catalogue } from './agents/catalogue.ts'
import { createSupervisor, recover, type Supervisor } from './agents/supervisor.ts'
import type { ServerConfig } from './config/server.ts'
import { createOutbox, type Outbox } from './events/outbox.ts'
import { createDeviceGrants, type DeviceGrants } from './identity/deviceGrants.ts'
import { createIdentity, type Identity } from './identity/identity.ts'
import { createOidc, type Oidc } from './identity/oidc.ts'
import { createSeal, type Seal } from './identity/seal.ts'
import { createMonitors, recoverMonitors, type Monitors } from './monitors/monitors.ts'
import { createNotifier, type Notifier } from './notifications/notifier.ts'
import { createScriptRunner, recoverScripts, type ScriptRunner } from './scripts/runner.ts'
import { createTargets } from './outside/targets.ts'
import { openDatabase, type Database } from './store/database.ts'
import { migrate } from './store/migrate.ts'
import { peerReader, type Peer } from './config/peer.ts'
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts'

/** The board, wired: what handlers are given. */
export interface App {
  config: ServerConfig
  db: Database
  outbox: Outbox
  identity: Identity
  seal: Seal
  deviceGrants: DeviceGrants
  oidc: Oidc
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
  /** Where attachments are kept. */
  attachmentsDir: string
  peerOf(request: IncomingMessage): Peer
  close(): Promise<void>
}

/** Opens the data folder, brings the database up to date and wires every part to those it needs. */
export async function createApp(config: ServerConfig): Promise<App> {
  makePrivateFolder(config.dataDir)
  const seal = createSeal(config)
  const attachmentsDir = join(config.dataDir, 'attachments')
  makePrivateFolder(attachmentsDir)
  const db = openDatabase({ path: join(config.dataDir, 'board.db'), clock: config.clock })
  await migrate(db)
  const outbox = createOutbox(db)
  const identity = await createIdentity(config, db)
  const deviceGrants = createDeviceGrants({ config, db, seal })
  const oidc = createOidc({ config, db, identity, seal })
  const catalogue = createCatalogue(config.dataDir)
  const supervisor = createSupervisor({ config, db, catalogue, deviceGrants, revocations: identity })
  await recover(db, supervisor)
  await recoverMonitors(db)
  await recoverScripts(db)
  const monitors = createMonitors({ db, outbox, config })
  const scripts = createScriptRunner(db)
  const targets = createTargets({ allowPrivate: config.allowPrivateWebhooks, lookup: config.lookup })
  const webhooks = createWebhooks({ db, outbox, seal, config, targets })
  const notifier = createNotifier({ db, outbox, webhooks })
  return {
    config, db, outbox, identity, seal, deviceGrants, oidc, catalogue, supervisor, monitors, scripts, webhooks, notifier, attachmentsDir, peerOf: peerReader(config),
    close: async () => {
      await Promise.all([supervisor.stop(), monitors.stop(), scripts.stop(), notifier.stop(), webhooks.stop()])
      await targets.close()
      outbox.close()
      identity.close()
      await deviceGrants.close()
      await db.close()
    },
  }
}
