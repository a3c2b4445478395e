import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { syncFolder } from '../config/folders.ts'
import type { DatabaseMove, MovedDatabase } from '../config/serverProgram.ts'
import { Problem } from '../contract/errors.ts'
import { copyBoard, countRows, requireFinished, type CopyOptions } from '../store/engine/boardCopy.ts'
import { isFileReleased } from '../store/engine/connection.ts'
import { listDaemons, otherMachines } from '../store/server/daemons.ts'
import type { Database, Reader } from '../store/engine/database.ts'
import { openDatabase, openSharedDatabase } from '../store/engine/open.ts'
import { holdDataFolder } from '../store/engine/lock.ts'
import { migrate, presentVersion } from '../store/engine/migrate.ts'
import { verifyArchive } from './archiver.ts'
import { lookAtDatabase, markDatabase } from './damage.ts'
import { exists } from './folder.ts'
import { databaseName } from './manifest.ts'

const movedName = 'moved.json'
const clock = () => new Date()
const aliveMs = 5000

/**
 * Copies the board of a data folder, or of a backup file, to a libSQL server without a board. The data folder keeps its database
 * under another name, and records the new location of the board.
 * @throws Problem SERVER_ALREADY_RUNNING, CONFLICT, DATABASE_BUSY, INVALID_BACKUP
 */
export const moveToServer = (move: DatabaseMove, backup?: string): Promise<MovedDatabase> =>
  backup === undefined
    ? withDataFolderLock(move.dataDir, async () => {
        const elsewhere = await movedTo(move.dataDir)
        if (elsewhere !== undefined)
          throw new Problem('CONFLICT', `The board of ${move.dataDir} was already moved to ${elsewhere}.`)
        const { isThere, reason } = await lookAtDatabase(move.dataDir)
        if (!isThere || reason !== undefined)
          throw new Problem(
            isThere ? 'DATABASE_DAMAGED' : 'NOT_FOUND',
            isThere ? undefined : `There is no board in ${move.dataDir}.`,
          )
        const moved = await copyToServer(join(move.dataDir, databaseName), move)
        return move.dryRun ? moved : { ...moved, keptAs: await renameMovedDatabase(move) }
      })
    : withUnpackedBackup(backup, path => copyToServer(path, move))

/**
 * Copies the board of a libSQL server, on which no daemon runs, into a data folder without a board. The server's database is
 * unchanged.
 * @throws Problem SERVER_ALREADY_RUNNING, CONFLICT, DATABASE_BUSY
 */
export const moveFromServer = (move: DatabaseMove): Promise<MovedDatabase> =>
  withDataFolderLock(move.dataDir, async () => {
    const { isThere } = await lookAtDatabase(move.dataDir)
    if (isThere && (await movedTo(move.dataDir)) === undefined)
      throw new Problem('CONFLICT', `${move.dataDir} already contains a board.`)
    const part = join(move.dataDir, `${databaseName}.part`)
    const drop = () => dropDatabase(part)
    await drop()
    const source = await openSharedDatabase({ ...move.server, host: move.machine, clock })
    try {
      if ((await presentVersion(source)) === 0) throw new Problem('NOT_FOUND', 'The server has no boards.')
      await requireFinished(source)
      await requireNobody(source)
      await requireOneMachine(source, move.machine)
      const target = openDatabase({ path: part, clock })
      const moved = await copy(source, target, () => null, move).finally(() => target.close())
      if (move.dryRun) return moved
      if (!(await isFileReleased(part)))
        throw new Problem('DATABASE_BUSY', 'The copy of the database is still in use. Try again.')
      await moveAside(move.dataDir)
      await rename(part, join(move.dataDir, databaseName))
      await markDatabase(move.dataDir, clock())
      await rm(join(move.dataDir, movedName), { force: true })
      await syncFolder(move.dataDir)
      return moved
    } finally {
      await source.close()
      await drop()
    }
  })

/** The new location of a data folder's board. */
export async function movedTo(dataDir: string): Promise<string | undefined> {
  return (await readMoved(dataDir))?.to
}

async function readMoved(dataDir: string): Promise<{ to: string; keptAs: string } | undefined> {
  const text = await readFile(join(dataDir, movedName), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as { to: string; keptAs: string })
}

async function copyToServer(path: string, move: DatabaseMove): Promise<MovedDatabase> {
  const source = openDatabase({ path, clock })
  const target = await openSharedDatabase({ ...move.server, host: move.machine, clock })
  try {
    await migrate(source)
    if (!move.dryRun) await migrate(target)
    return await copy(source, target, before => before ?? move.machine, move)
  } finally {
    await Promise.all([source.close(), target.close()])
  }
}

async function copy(
  source: Database,
  target: Database,
  hostOf: CopyOptions['hostOf'],
  { dryRun, replace, onProgress }: DatabaseMove,
): Promise<MovedDatabase> {
  return source.snapshot(async from => {
    const rows = await countRows(from)
    if (dryRun) return { rows: rows / 2, tables: [], keptAs: null }
    await migrate(target)
    const tables = await copyBoard(from, target, {
      hostOf,
      replace,
      requireFree: requireNobody,
      onProgress: done => onProgress?.(done, rows),
    })
    return { rows: rows / 2, tables, keptAs: null }
  })
}

/** The unused database stays next to the file that records the move. */
async function renameMovedDatabase({ dataDir, server }: DatabaseMove): Promise<string> {
  const at = clock().toISOString()
  const keptAs = `moved-${at.replace(/:/g, '-')}.db`
  await isFileReleased(join(dataDir, databaseName))
  await writeFile(join(dataDir, `${movedName}.part`), `${JSON.stringify({ to: server.url, at, keptAs })}\n`, {
    mode: 0o600,
    flush: true,
  })
  await rename(join(dataDir, `${movedName}.part`), join(dataDir, movedName))
  await moveAside(dataDir)
  return keptAs
}

/**
 * Renames the database of a moved board, unless it is already renamed. If an interrupted copy restored the old name since, the
 * database is created again.
 */
async function moveAside(dataDir: string): Promise<void> {
  const moved = await readMoved(dataDir)
  if (!moved) return
  const path = join(dataDir, databaseName)
  if (await exists(join(dataDir, moved.keptAs))) await dropDatabase(path)
  else
    await rename(path, join(dataDir, moved.keptAs)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  await syncFolder(dataDir)
}

const dropDatabase = (path: string) =>
  Promise.all(['', '-wal', '-shm'].map(ending => rm(path + ending, { force: true })))

async function requireNobody(db: Reader): Promise<void> {
  const present = (await listDaemons(db)).filter(({ seenMsAgo }) => seenMsAgo < aliveMs)
  if (present.length > 0)
    throw new Problem(
      'CONFLICT',
      `Servers use this database: ${present.map(({ host, url }) => `${host} (${url})`).join(', ')}. Stop them first.`,
    )
}

async function requireOneMachine(db: Reader, machine: string): Promise<void> {
  const others = await otherMachines(db, machine)
  if (others.length > 0)
    throw new Problem(
      'CONFLICT',
      `The board has projects of other machines, whose folders are not on this machine: ${others.join(', ')}.`,
    )
}

async function withDataFolderLock<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  const unlock = holdDataFolder(dataDir, () => `A server uses ${dataDir}. Stop it first.`)
  try {
    return await work()
  } finally {
    unlock()
  }
}

async function withUnpackedBackup<T>(backup: string, work: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'board-move-'))
  try {
    await verifyArchive(backup, { work: join(folder, 'work') })
    return await work(join(folder, 'work', databaseName))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
