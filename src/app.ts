import { rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { makePrivateFolder } from './config/folders.ts'
import { dumpDatabase } from './backups/dumping.ts'
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
import { createAudit, type Audit } from './identity/audit.ts'
import { createIdentity, type Identity } from './identity/identity.ts'
import { createOidc, type Oidc } from './identity/oidc.ts'
import { createSeal, sealingKeyOf, type Seal } from './identity/seal.ts'
import { requireSharedKey } from './identity/sharedKey.ts'
import { readLogExport, targetOf } from './logs/exportSettings.ts'
import type { Logs } from './logs/logs.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import { createOutboundDispatcher, type OutboundDispatcher } from './identity/outboundDispatcher.ts'
import { createEgressPolicy } from './egress/egressPolicy.ts'
import { createMembership, type Membership } from './daemons/membership.ts'
import { copyDatabase } from './store/copies.ts'
import type { Database } from './store/database.ts'
import { retryWhileBusy } from './store/retry.ts'
import { peerReader, type Peer } from './config/peer.ts'
import { createWork, type Work } from './work.ts'

/** The board, wired: what handlers are given. */
export interface App extends Work {
  config: ServerConfig
  logs: Logs
  db: Database
  outbox: Outbox
  identity: Identity
  audit: Audit
  seal: Seal
  deviceGrants: DeviceGrants
  outboundDispatcher: OutboundDispatcher
  oidc: Oidc
  metrics: Metrics
  backups: Backups
  host: Host
  /** Where attachments are kept. */
  attachmentsDir: string
  /** Where exports and imports are while they are under way. */
  transfersDir: string
  peerOf(request: IncomingMessage): Peer
  /** This daemon among those that share its database. */
  membership: Membership
  close(): Promise<void>
}

/** What the board gets from whoever runs it, and from one that it takes the place of. */
export interface Surroundings {
  host?: Host
  localToken?: string
}

/** Opens the data folder, brings the database up to date and wires every part to those it needs. */
export async function createApp(
  config: ServerConfig,
  logs: Logs,
  { host = nobody, localToken }: Surroundings = {},
): Promise<App> {
  makePrivateFolder(config.dataDir)
  await finishState(config.dataDir)
  const tidied = removeLeftovers(config, logs)
  const seal = createSeal(config)
  const { attachmentsDir, transfersDir } = openFolders(config)
  const db = await openSealed(config, logs, seal)
  await exportLog({ db, seal, logs })
  const outbox = createOutbox(db)
  const endWatch = config.database && watchOtherDaemons(db, config.database, outbox.wake)
  const identity = await createIdentity(config, db, seal, localToken)
  const audit = createAudit(db, from(logs.log, 'audit'), config.clock)
  const egress = createEgressPolicy({ allowPrivate: config.allowPrivateWebhooks, lookup: config.lookup })
  const outboundDispatcher = createOutboundDispatcher({ config, db, egress })
  const metrics = createMetrics()
  const membership = createMembership(db, config, metrics)
  const deviceGrants = createDeviceGrants({ config, db, seal, outboundDispatcher, daemonId: membership.id })
  const work = await createWork({ config, logs, db, membership, outbox, seal, identity, deviceGrants, egress })
  const { supervisor: agents, scripts } = work
  const oidc = createOidc({ config, db, identity, seal, agents, scripts, log: from(logs.log, 'identity') })
  const backups = await openAppBackups({ config, logs, db, attachmentsDir })
  return {
    config,
    logs,
    db,
    outbox,
    identity,
    audit,
    seal,
    deviceGrants,
    outboundDispatcher,
    oidc,
    metrics,
    membership,
    ...work,
    backups,
    host,
    attachmentsDir,
    transfersDir,
    peerOf: peerReader(config),
    close: async () => {
      await Promise.all([work.stopWork(), backups.close(), deviceGrants.close()])
      await membership.stop()
      await egress.close()
      endWatch?.()
      outbox.close()
      await audit.close()
      identity.close()
      await db.close()
      await tidied
    },
  }
}

/** Removes what a restore that was broken off has left, beside the start. Never rejects. */
const removeLeftovers = (config: ServerConfig, logs: Logs): Promise<void> =>
  removeRubbish(config.dataDir).catch((error: unknown) =>
    from(logs.log, 'backups')('warn', 'What an earlier restore has left could not be removed.', {
      cause: causeOf(error),
    }),
  )

/** Opens the database; one that several machines share must have been sealed with this machine's key. */
async function openSealed(config: ServerConfig, logs: Logs, seal: Seal): Promise<Database> {
  const db = await openData(config, from(logs.log, 'database'))
  if (db.isShared)
    await retryWhileBusy(() => requireSharedKey(db, seal)).catch(async (error: unknown) => {
      await db.close()
      throw error
    })
  return db
}

function openAppBackups({
  config,
  logs,
  db,
  attachmentsDir,
}: {
  config: ServerConfig
  logs: Logs
  db: Database
  attachmentsDir: string
}): Promise<Backups> {
  const source = {
    copyDatabase: (to: string, signal?: AbortSignal) =>
      db.isShared ? dumpDatabase(db, to) : copyDatabase(join(config.dataDir, 'board.db'), to, signal),
    attachmentsDir,
    sealingKey: () => sealingKeyOf(config),
  }
  return openBackups({ dataDir: config.dataDir, source, clock: config.clock, log: from(logs.log, 'backups') })
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
  const settings = await retryWhileBusy(() => readLogExport(db))
  try {
    logs.exporter.use(settings.enabled ? targetOf(seal, settings) : undefined)
  } catch (error) {
    logs.log('error', 'The log is not exported.', { cause: (error as Error).message })
  }
}
