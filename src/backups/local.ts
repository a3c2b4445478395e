import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { basename, join } from 'node:path'
import { serverDefaults, type ServerConfig } from '../config/server.ts'
import type { OnProgress, VerifiedBackup } from '../config/serverProgram.ts'
import { Problem } from '../contract/errors.ts'
import { createAttachmentFiles } from '../files/attachmentFiles.ts'
import { sealingKeyOf } from '../identity/seal.ts'
import type { NewAuditRow } from '../store/server/audit.ts'
import { copyDatabase } from '../store/engine/databaseCopy.ts'
import { holdDataFolder } from '../store/engine/lock.ts'
import { verifyArchive } from './archiver.ts'
import { openBackups } from './backups.ts'
import { lookAtDatabase, markDatabase } from './damage.ts'
import { backupsFolder } from './folder.ts'
import { attachmentsName, databaseName } from './manifest.ts'
import { timeOfName } from './names.ts'
import { keepPresent, prepare, replaceDatabase, type Kept } from './restoreBackup.ts'
import { finishState, removeRubbish } from './replaceDatabase.ts'

/**
 * Examines a backup file on this machine, like a restore would.
 * @throws Problem INVALID_BACKUP, DISK_FULL if its database does not fit into the folder for temporary files
 */
export async function verifyFile(path: string, onProgress?: OnProgress): Promise<VerifiedBackup> {
  const folder = await mkdtemp(join(tmpdir(), 'board-verify-'))
  try {
    const {
      origin: _,
      missing,
      ...verified
    } = await verifyArchive(path, { work: join(folder, 'work') }, { onProgress })
    return { filename: basename(path), ...verified, missing: missing.length }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Resolves a path, or the name of a backup in the data folder, to a file.
 * @throws Problem BACKUP_NOT_FOUND
 */
export async function findFile(wanted: string, dataDir: string): Promise<string> {
  const kept = timeOfName(wanted) === undefined ? [] : [join(backupsFolder(dataDir), wanted)]
  for (const path of [wanted, ...kept])
    if (
      await stat(path).then(
        found => found.isFile(),
        () => false,
      )
    )
      return path
  throw new Problem('BACKUP_NOT_FOUND', `Backup ${wanted} was not found, as a file or in ${backupsFolder(dataDir)}.`)
}

/** The newest backup in a data folder, by the time in its name. Undefined if there is none. */
export async function findNewest(dataDir: string): Promise<string | undefined> {
  const names = await readdir(backupsFolder(dataDir)).catch(() => [])
  const newest = names
    .filter(name => timeOfName(name) !== undefined)
    .sort((a, b) => String(timeOfName(a)).localeCompare(String(timeOfName(b))))
    .at(-1)
  return newest === undefined ? undefined : join(backupsFolder(dataDir), newest)
}

/**
 * Replaces the content of a data folder with a backup while no server uses it. The earlier content is kept as a backup, or in a
 * folder `damaged-…` if it is too damaged for one. Every sign-in ends.
 * @returns the location of the earlier state; null if there was none
 * @throws Problem INVALID_BACKUP, DISK_FULL, SERVER_ALREADY_RUNNING, CONFLICT
 */
export async function restoreFile(
  path: string,
  dataDir: string,
  onProgress?: OnProgress,
): Promise<{ filename: string; keptAs: string | null }> {
  const config: ServerConfig = { ...serverDefaults, dataDir, secretKey: process.env.BOARD_SECRET_KEY || undefined }
  const unlock = holdDataFolder(dataDir, () => `A server uses ${dataDir}. Restore through it, or stop it first.`)
  try {
    await finishState(dataDir)
    await removeRubbish(dataDir)
    const prepared = await prepare(config, path, { onProgress })
    const kept = await keepContent(config, prepared.withKey)
    await replaceDatabase(config, prepared, restoredBy(path), kept?.folder)
    await finishState(dataDir)
    await removeRubbish(dataDir)
    await markDatabase(dataDir, config.clock())
    return { filename: basename(path), keptAs: kept?.name ?? null }
  } finally {
    unlock()
  }
}

/** The audit entry of a restore without a server, which runs under the machine's account. */
const restoredBy = (path: string): NewAuditRow => ({
  outcome: 'ok',
  action: 'backups.restore',
  actorKind: 'user',
  actorId: null,
  actorName: userInfo().username,
  targetKind: 'backup',
  targetId: basename(path),
  viaKind: 'local',
  viaId: null,
  address: null,
  detail: '{}',
})

/** Keeps the content of the data folder, if there is any. */
async function keepContent(config: ServerConfig, withKey: boolean): Promise<Kept | undefined> {
  const { dataDir, clock } = config
  const { isThere, reason } = await lookAtDatabase(dataDir)
  if (!isThere) return undefined
  return keepPresent(async () => {
    if (reason !== undefined) throw new Problem('DATABASE_DAMAGED')
    const source = {
      copyDatabase: (to: string, signal?: AbortSignal) => copyDatabase(join(dataDir, databaseName), to, signal),
      attachmentFiles: createAttachmentFiles(join(dataDir, attachmentsName)),
      sealingKey: () => sealingKeyOf(config),
    }
    const backups = await openBackups({
      dataDir,
      source,
      clock,
      log: () => {
        /* There is no log to write to. */
      },
    })
    return backups.create('restore', withKey)
  }, config)
}
