import type { IncomingMessage } from 'node:http'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServerConfig } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import type { Caller } from '../domain/caller.ts'
import { requireSafeAuthSettings } from '../identity/authSettings.ts'
import { clearHosts } from '../store/daemons.ts'
import { clearFolderRecords } from '../store/projects.ts'
import { deleteAllAgentTokens } from '../store/agentTokens.ts'
import { isFileReleased } from '../store/connection.ts'
import type { NewAuditRow } from '../store/audit.ts'
import type { Reader } from '../store/database.ts'
import { openDatabase } from '../store/open.ts'
import { migrate } from '../store/migrate.ts'
import { deleteAllOauthGrants } from '../store/oauthServer.ts'
import { deleteAllSignInTokens, findSignIn, keepSignInToken, type SignInRow } from '../store/signInTokens.ts'
import { forgetTickets } from '../store/tickets.ts'
import { verifyArchive } from './archiver.ts'
import { keepAudit } from './auditMerge.ts'
import type { Backups } from './backups.ts'
import { clearUse } from './databaseUse.ts'
import { attachmentsName, databaseName } from './manifest.ts'
import { backupName } from './names.ts'
import { beginState, commitState, type Prepared } from './replaceDatabase.ts'

/** The host of a board on a data folder: takes it down around something, and up again. */
export interface Host {
  /**
   * Ends all work, answers reading requests only while `keep` runs, closes the board, runs `swap` and opens what is there then.
   * When either fails, what was there is opened again.
   * @param request the one on whose behalf this happens, which is not cut off
   * @throws Problem CONFLICT while it is being done already
   */
  replace<T>(request: IncomingMessage, keep: () => Promise<T>, swap: (kept: T) => Promise<void>): Promise<T>
}

interface Parts {
  backups: Backups
  config: ServerConfig
  db: Reader
  host: Host
}

/**
 * Puts a backup in the place of the present state, which is kept as a backup. Everything is verified, brought up to this program's
 * version and on disk before anything is touched; the present state is kept as a backup when nothing writes to it any more.
 * Every sign-in but the caller's ends, and every agent's token. A present state that is too damaged for a backup is kept as it is.
 * @returns the name of the backup or folder that keeps the present state
 * @throws Problem BACKUP_NOT_FOUND, INVALID_BACKUP, DISK_FULL, CONFLICT
 */
export async function restore(
  { backups, config, db, host }: Parts,
  filename: string,
  { caller, request, entry }: { caller: Caller; request: IncomingMessage; entry: NewAuditRow },
): Promise<{ filename: string; keptAs: string }> {
  const { path } = await backups.find(filename)
  if (config.database)
    throw new Problem(
      'CONFLICT',
      'A board on a libSQL server is put back while its daemons are stopped: board database move --from FILE --to URL --replace',
    )
  const signIn = caller.kind === 'user' ? await findSignIn(db, caller.tokenHash) : undefined
  const prepared = await backups
    .runExclusive((_, signal) =>
      prepare(config, path, { keep: signIn && { hash: caller.tokenHash, ...signIn }, signal }),
    )
    .catch(async (error: unknown) => {
      // It may have been deleted since it was found.
      await backups.find(filename)
      throw error
    })
  let isCommitted = false
  try {
    const keep = () => keepPresent(() => backups.create('restore', prepared.withKey), config)
    const kept = await host.replace(request, keep, async ({ folder }) => {
      await replaceDatabase(config, prepared, entry, folder)
      isCommitted = true
    })
    return { filename, keptAs: kept.name }
  } finally {
    if (!isCommitted) await rm(join(config.dataDir, prepared.folder), { recursive: true, force: true })
  }
}

/** Where the present state is kept: a backup, or the folder that it will be moved to. */
export interface Kept {
  name: string
  folder?: string
}

/** Keeps the present state as a backup, or returns where its files will stay when there is nothing sound to back up. */
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
 * The step from the old state to the new one, which keeps the old one's audit log. Nothing of this process may have the database
 * open any more.
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
      'The database could not be let go of. Nothing was changed; restore the backup while the server is stopped.',
      { retryAfterSecs: 30 },
    )
  await keepAudit(config, prepared.folder, entry, keptAs !== undefined)
  await commitState(config.dataDir, prepared, keptAs)
}

/**
 * Makes a whole new state of an archive in a folder of its own: verified, migrated, without anybody signed in.
 * @throws Problem INVALID_BACKUP, DISK_FULL, CONFLICT when authentication is off in it and others can reach this server
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
      // A refresh token that was used up after the backup would be good again.
      await deleteAllOauthGrants(tx)
      await forgetTickets(tx)
      // What several machines shared is this one's alone.
      await clearHosts(tx)
      await clearFolderRecords(tx)
      if (keep) await keepSignInToken(tx, keep)
    })
    await requireSafeAuthSettings({ config, db })
  } finally {
    await db.close()
  }
  if (!(await isFileReleased(path)) || existsSync(`${path}-wal`))
    throw new Problem(
      'DATABASE_BUSY',
      'The restored database could not be let go of. Nothing was changed; try again.',
      { retryAfterSecs: 30 },
    )
}
