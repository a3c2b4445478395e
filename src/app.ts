import { rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { attachmentsFolder, makePrivateFolder } from './config/folders.ts'
import { dumpDatabase } from './backups/dumpDatabase.ts'
import { openBackups, type Backups } from './backups/backups.ts'
import { openData } from './backups/openData.ts'
import type { Host } from './backups/restoreBackup.ts'
import { finishState, removeRubbish } from './backups/replaceDatabase.ts'
import { causeOf, logFor } from './config/log.ts'
import type { ServerConfig } from './config/server.ts'
import { Problem } from './contract/errors.ts'
import { createAttachmentFiles, type AttachmentFiles } from './files/attachmentFiles.ts'
import { createMergeChecks, type MergeChecks } from './cardWork/mergeChecks.ts'
import { watchOtherDaemons } from './events/otherDaemons.ts'
import { createOutbox, type Outbox } from './events/outbox.ts'
import { createDeviceGrants, type DeviceGrants } from './identity/deviceGrants.ts'
import { createAudit, type Audit } from './identity/audit.ts'
import { createIdentity, type Identity } from './identity/identity.ts'
import { createBrowserTickets, type BrowserTickets } from './identity/browserTickets.ts'
import { createOidc, type Oidc } from './identity/oidc.ts'
import { createSeal, sealingKeyOf, type Seal } from './identity/seal.ts'
import { requireSharedKey } from './identity/sharedKey.ts'
import { readLogExport, targetOf } from './logs/exportSettings.ts'
import type { Logs } from './logs/logs.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import { createOutboundDispatcher, type OutboundDispatcher } from './identity/outboundDispatcher.ts'
import { createEgressPolicy } from './egress/egressPolicy.ts'
import { createMembership, type Membership } from './daemons/membership.ts'
import { copyDatabase } from './store/engine/databaseCopy.ts'
import type { Database, Reader } from './store/engine/database.ts'
import { retryWhileBusy } from './store/engine/retry.ts'
import { peerReader, type Peer } from './identity/peer.ts'
import { createBackgroundServices, type BackgroundServices } from './backgroundServices.ts'

/** The wired board, which handlers receive. */
export interface App extends BackgroundServices {
  config: ServerConfig
  logs: Logs
  db: Database
  /** Reads frequently requested data. On a database server, results are cached until the next commit. */
  reads: Reader
  outbox: Outbox
  identity: Identity
  audit: Audit
  seal: Seal
  deviceGrants: DeviceGrants
  outboundDispatcher: OutboundDispatcher
  oidc: Oidc
  browserTickets: BrowserTickets
  metrics: Metrics
  backups: Backups
  host: Host
  /** Checks whether merged cards are still merged. */
  merges: MergeChecks
  attachmentFiles: AttachmentFiles
  /** The folder for exports and imports in progress. */
  transfersDir: string
  peerOf(request: IncomingMessage): Peer
  /** This daemon among those that share its database. */
  membership: Membership
  close(): Promise<void>
}

/** The options from the process that serves the board, and the board that this one replaces. */
export interface AppOptions {
  host?: Host
  localToken?: string
}

/** Opens the data folder, migrates the database and wires every part to its dependencies. */
export async function createApp(
  config: ServerConfig,
  logs: Logs,
  { host = noHost, localToken }: AppOptions = {},
): Promise<App> {
  makePrivateFolder(config.dataDir)
  await finishState(config.dataDir)
  const tidied = removeLeftovers(config, logs)
  const seal = createSeal(config)
  const { attachmentFiles, transfersDir } = openFolders(config)
  const db = await openSealed(config, logs, seal)
  await exportLog({ db, seal, logs })
  const outbox = createOutbox(db)
  const endWatch = config.database && watchOtherDaemons(db, config.database, outbox.wake)
  const identity = await createIdentity(config, db, seal, localToken)
  const audit = createAudit(db, logFor(logs.log, 'audit'), config.clock)
  const egress = createEgressPolicy({ allowPrivate: config.allowPrivateWebhooks, lookup: config.lookup })
  const outboundDispatcher = createOutboundDispatcher({ config, db, egress })
  const metrics = createMetrics()
  const membership = createMembership(db, config, metrics)
  const deviceGrants = createDeviceGrants({ config, db, seal, outboundDispatcher, daemonId: membership.id })
  const shared = { config, logs, db, outbox, seal, identity }
  const services = await createBackgroundServices({ ...shared, membership, deviceGrants, egress, outboundDispatcher })
  const { supervisor: agents, scripts } = services
  const oidc = createOidc({ config, db, identity, seal, agents, scripts, log: logFor(logs.log, 'identity') })
  const backups = await openAppBackups({ config, logs, db, attachmentFiles })
  return {
    ...shared,
    // A database file responds faster than a look-up in a cache.
    reads: db.isShared ? identity.holders : db,
    audit,
    deviceGrants,
    outboundDispatcher,
    oidc,
    browserTickets: createBrowserTickets({ db, seal }),
    metrics,
    membership,
    ...services,
    backups,
    merges: createMergeChecks(db, identity.holders),
    host,
    attachmentFiles,
    transfersDir,
    peerOf: peerReader(config),
    close: async () => {
      await Promise.all([services.stopServices(), backups.close(), deviceGrants.close()])
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

/** Removes the leftovers of an interrupted restore, in parallel with the start. Never rejects. */
const removeLeftovers = (config: ServerConfig, logs: Logs): Promise<void> =>
  removeRubbish(config.dataDir).catch((error: unknown) =>
    logFor(logs.log, 'backups')('warn', 'The leftovers of an earlier restore could not be removed.', {
      cause: causeOf(error),
    }),
  )

/** Opens the database. A database that several machines share must use this machine's key. */
async function openSealed(config: ServerConfig, logs: Logs, seal: Seal): Promise<Database> {
  const db = await openData(config, logFor(logs.log, 'database'))
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
  attachmentFiles,
}: {
  config: ServerConfig
  logs: Logs
  db: Database
  attachmentFiles: AttachmentFiles
}): Promise<Backups> {
  const source = {
    copyDatabase: (to: string, signal?: AbortSignal) =>
      db.isShared ? dumpDatabase(db, to) : copyDatabase(join(config.dataDir, 'board.db'), to, signal),
    attachmentFiles,
    sealingKey: () => sealingKeyOf(config),
  }
  return openBackups({ dataDir: config.dataDir, source, clock: config.clock, log: logFor(logs.log, 'backups') })
}

/** Deletes the unfinished files of an earlier server. */
function openFolders({ dataDir }: ServerConfig): Pick<App, 'attachmentFiles' | 'transfersDir'> {
  const [attachmentsDir, transfersDir] = [attachmentsFolder(dataDir), join(dataDir, 'transfers')]
  rmSync(transfersDir, { recursive: true, force: true })
  makePrivateFolder(attachmentsDir)
  makePrivateFolder(transfersDir)
  return { attachmentFiles: createAttachmentFiles(attachmentsDir), transfersDir }
}

/** A board that is not being served cannot be replaced while it is open. */
const noHost: Host = { replace: () => Promise.reject(new Problem('CONFLICT', 'The board is not being served.')) }

/** Sends the log to the configured receiver. A header that cannot be decrypted disables the export, but not the server. */
async function exportLog({ db, seal, logs }: Pick<App, 'db' | 'seal' | 'logs'>): Promise<void> {
  const settings = await retryWhileBusy(() => readLogExport(db))
  try {
    logs.exporter.use(settings.enabled ? targetOf(seal, settings) : undefined)
  } catch (error) {
    logs.log('error', 'The log is not exported.', { cause: (error as Error).message })
  }
}
