import type { IncomingMessage } from 'node:http'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServerConfig } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import type { RestoreProgress } from '../contract/server/backups.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { requireSafeAuthSettings } from '../identity/authSettings.ts'
import { clearHosts } from '../store/server/daemons.ts'
import { clearFolderRecords } from '../store/projects/projects.ts'
import { deleteAllAgentTokens } from '../store/agents/agentTokens.ts'
import { isFileReleased } from '../store/engine/connection.ts'
import type { NewAuditRow } from '../store/server/audit.ts'
import type { Reader } from '../store/engine/database.ts'
import { openDatabase } from '../store/engine/open.ts'
import { migrate } from '../store/engine/migrate.ts'
import { deleteAllOauthGrants } from '../store/accounts/oauthServer.ts'
import { deleteAllSignInTokens, findSignIn, keepSignInToken, type SignInRow } from '../store/accounts/signInTokens.ts'
import { forgetTickets } from '../store/accounts/tickets.ts'
import { verifyArchive } from './archiver.ts'
import { keepAudit } from './auditMerge.ts'
import type { Backups } from './backups.ts'
import { clearUse } from './databaseUse.ts'
import { attachmentsName, databaseName } from './manifest.ts'
import { backupName } from './names.ts'
import { beginState, commitState, type Prepared } from './replaceDatabase.ts'

/** The host of a board on a data folder: it can stop the board for an operation and start it again. */
export interface Host {
  /**
   * Ends all work, answers only reading requests while `keep` runs, closes the board, runs `swap` and opens the result. If either
   * fails, the earlier state is opened again.
   * @param request the request that triggered this, which is not aborted
   * @throws Problem CONFLICT if a replacement is already in progress
   */
  replace<T>(request: IncomingMessage, keep: () => Promise<T>, swap: (kept: T) => Promise<void>): Promise<T>
}

interface RestoreDependencies {
  backups: Backups
  config: ServerConfig
  db: Reader
  host: Host
}

/**
 * Replaces the current state with a backup. Everything is verified, migrated to this program's version and on disk before the current state
 * is touched. The current state is stored as a backup once it is no longer written to. All sign-ins except the caller's end, and so do all
 * agent tokens. A current state that is too damaged for a backup is kept unchanged.
 * @returns the name of the backup or folder with the earlier state
 * @throws Problem BACKUP_NOT_FOUND, INVALID_BACKUP, DISK_FULL, CONFLICT
 */
export async function restore(
  { backups, config, db, host }: RestoreDependencies,
  filename: string,
  { caller, request, entry }: { caller: Caller; request: IncomingMessage; entry: NewAuditRow },
): Promise<{ filename: string; keptAs: string }> {
  const { path, size } = await backups.find(filename)
  if (config.database)
    throw new Problem(
      'CONFLICT',
      'To restore a board on a libSQL server, stop its daemons, then run: board database move --from FILE --to URL --replace',
    )
  const signIn = caller.kind === 'user' ? await findSignIn(db, caller.tokenHash) : undefined
  const report = (step: RestoreProgress['step'], share: number | null = null): void => {
    backups.restoring = { filename, step, share }
  }
  report('verify')
  const prepared = await backups
    .runExclusive((_, signal) =>
      prepare(config, path, {
        keep: signIn && { hash: caller.tokenHash, ...signIn },
        onProgress: bytes => report('verify', Math.min(1, bytes / size)),
        signal,
      }),
    )
    .catch(async (error: unknown) => {
      backups.restoring = undefined
      // The backup might have been deleted since it was found.
      await backups.find(filename)
      throw error
    })
  let isCommitted = false
  try {
    const keepCurrent = async () => {
      report('keep')
      const kept = await keepPresent(() => backups.create('restore', prepared.withKey), config)
      report('replace')
      return kept
    }
    const kept = await host.replace(request, keepCurrent, async ({ folder }) => {
      await replaceDatabase(config, prepared, entry, folder)
      isCommitted = true
    })
    return { filename, keptAs: kept.name }
  } finally {
    backups.restoring = undefined
    if (!isCommitted) await rm(join(config.dataDir, prepared.folder), { recursive: true, force: true })
  }
}

/** The location of the current state: a backup, or the folder that it will be moved to. */
export interface Kept {
  name: string
  folder?: string
}

/** Stores the current state as a backup, or returns the future location of its files if there is nothing intact to back up. */
export async function keepPresent(
  create: () => Promise<{ filename: string }>,
  { clock }: Pick<ServerConfig, 'clock'>,
): Promise<Kept> {
  try {
    return { name: (await create()).filename }
  } catch (error) {
    if (!(error instanceof Problem) || !['DATABASE_DAMAGED', 'INVALID_BACKUP'].includes(error.code)) throw error
    const folder = backupName(clock()).replace('board-', 'damaged-').replace('.tar.gz', '')
    return { name: folder, folder }
  }
}

/**
 * Replaces the old state with the new one, and keeps the audit log of the old state. The database must no longer be open in this process.
 */
export async function replaceDatabase(
  config: Pick<ServerConfig, 'dataDir' | 'clock'>,
  prepared: Prepared,
  entry: NewAuditRow,
  keptAs?: string,
): Promise<void> {
  if (!(await isFileReleased(join(config.dataDir, databaseName))))
    throw new Problem(
      'DATABASE_BUSY',
      'The database is still in use. Nothing was changed. Restore the backup while the server is stopped.',
      { retryAfterSecs: 30 },
    )
  await keepAudit(config, prepared.folder, entry, keptAs !== undefined)
  await commitState(config.dataDir, prepared, keptAs)
}

/**
 * Prepares a whole new state from an archive in a separate folder: verified, migrated, without sign-ins.
 * @throws Problem INVALID_BACKUP, DISK_FULL, CONFLICT if authentication is off in the backup and other machines can reach this server
 */
export async function prepare(
  config: ServerConfig,
  path: string,
  {
    keep,
    onProgress,
    signal,
  }: { keep?: SignInRow & { hash: string }; onProgress?: (bytes: number) => void; signal?: AbortSignal } = {},
): Promise<Prepared> {
  const folder = await beginState(config.dataDir)
  const work = join(config.dataDir, folder)
  try {
    const { withKey } = await verifyArchive(
      path,
      { work, unpack: { reuse: join(config.dataDir, attachmentsName) } },
      { onProgress, signal },
    )
    await bringUp(config, join(work, databaseName), keep)
    return { folder, withKey }
  } catch (error) {
    await rm(work, { recursive: true, force: true })
    throw error
  }
}

async function bringUp(config: ServerConfig, path: string, keep?: SignInRow & { hash: string }): Promise<void> {
  const db = openDatabase({ path, clock: config.clock })
  try {
    await migrate(db)
    await clearUse(db)
    await db.transaction(async tx => {
      await deleteAllSignInTokens(tx)
      await deleteAllAgentTokens(tx)
      // A refresh token that was used after the backup would become valid again.
      await deleteAllOauthGrants(tx)
      await forgetTickets(tx)
      // This machine takes over the data of all machines that shared the database.
      await clearHosts(tx)
      await clearFolderRecords(tx)
      if (keep) await keepSignInToken(tx, keep)
    })
    await requireSafeAuthSettings({ config, db })
  } finally {
    await db.close()
  }
  if (!(await isFileReleased(path)) || existsSync(`${path}-wal`))
    throw new Problem('DATABASE_BUSY', 'The restored database is still in use. Nothing was changed. Try again.', {
      retryAfterSecs: 30,
    })
}
