import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Problem } from '../../contract/errors.ts'
import { translateError } from './database.ts'
import { runInChildProcess, type EngineFailure, type Query } from './runInChildProcess.ts'
import { describeUnsupported, objectsOf, objectsSql } from './migrate.ts'

/** An attachment that a row refers to: its file name, size in bytes and hexadecimal SHA-256. */
export interface NamedFile {
  name: string
  size: number
  sha256: string
}
/** The contents of a database file: its schema version, and the files that belong to it. */
export interface DatabaseContents {
  schemaVersion: number
  files: NamedFile[]
}
/** Thrown for a file that is not a valid board database, with the reason. */
export class InvalidDatabase extends Error {}

/**
 * Copies a database in use as one snapshot into a new file, without syncing the file. Blocks neither readers nor the writer.
 * @throws Problem DISK_FULL before any write if the copy does not fit; DATABASE_DAMAGED
 */
export async function copyDatabase(from: string, to: string, signal?: AbortSignal): Promise<void> {
  const copy = async (query: Query) => {
    await requireRoom(query, dirname(to))
    await query([{ sql: 'VACUUM INTO ?', args: [to] }])
  }
  await runInChildProcess(from, copy, signal).catch(error => {
    throw translateError(error)
  })
}

async function requireRoom(query: Query, folder: string): Promise<void> {
  const [rows] = await query([{ sql: usedSql }])
  const [wanted, { bavail, bsize }] = [Number(rows![0]!.bytes), await statfs(folder)]
  if (wanted > bavail * bsize)
    throw new Problem(
      'DISK_FULL',
      `A copy of the database requires ${gigabytes(wanted)}, and the disk of ${folder} has ${gigabytes(bavail * bsize)} left. Nothing was changed.`,
      { retryAfterSecs: 30 },
    )
}

const usedSql =
  'SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count, pragma_freelist_count, pragma_page_size'

const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`

/** The files that belong to a copy, and its schema's version. */
export async function filesOfCopy(path: string): Promise<DatabaseContents> {
  const [version, files] = await runOnCopy(path, query => query([{ sql: 'PRAGMA user_version' }, { sql: filesSql }]))
  return { schemaVersion: Number(version![0]!.user_version), files: files as unknown as NamedFile[] }
}

const filesSql = 'SELECT stored_as AS name, size, sha256 FROM attachments ORDER BY id'

/**
 * Checks a whole database file that is not in use: its pages, indexes and references, and that it is a board's, of
 * this program's version or an older one.
 * @throws InvalidDatabase
 */
export async function examineDatabase(path: string): Promise<DatabaseContents> {
  return runOnCopy(path, examineContents)
}

async function examineContents(query: Query): Promise<DatabaseContents> {
  const version = await requireBoard(query)
  const [integrity, references, files] = await query([
    { sql: 'PRAGMA integrity_check(1)' },
    { sql: 'PRAGMA foreign_key_check' },
    { sql: filesSql },
  ])
  const verdict = String(integrity![0]?.integrity_check)
  if (verdict !== 'ok')
    throw new InvalidDatabase(`its database is damaged: ${verdict.replace(/\s+/g, ' ').slice(0, 200)}`)
  if (references!.length > 0)
    throw new InvalidDatabase(`its database has rows of ${String(references![0]!.table)} that refer to missing rows`)
  return { schemaVersion: version, files: files as unknown as NamedFile[] }
}

/**
 * Checks the pages of a database file, and with `withIndexes`, which takes longer, its indexes.
 * @returns the damage, or undefined
 */
export async function findDamage(path: string, withIndexes = false, signal?: AbortSignal): Promise<string | undefined> {
  const check = withIndexes ? 'integrity_check' : 'quick_check'
  const verdict = await runInChildProcess(path, query => query([{ sql: `PRAGMA ${check}(1)` }]), signal).then(
    ([rows]) => String(rows![0]?.[check]),
    (error: { code?: string; message: string }) => {
      if (isDamage(error)) return error.message
      throw error
    },
  )
  return verdict === 'ok' ? undefined : verdict
}

/** Rejects a foreign file by the names in its schema, before anything in it is executed. */
async function requireBoard(query: Query): Promise<number> {
  const [version, objects] = await query([{ sql: 'PRAGMA user_version' }, { sql: objectsSql }])
  const present = Number(version![0]?.user_version)
  const problem = describeUnsupported(present)
  if (problem !== undefined) throw new InvalidDatabase(`its database ${problem.replace(/\.$/, '')}`)
  if (present < 1 || JSON.stringify(objects) !== JSON.stringify(objectsOf(present)))
    throw new InvalidDatabase('its database is not a board database')
  return present
}

const runOnCopy = <T>(path: string, work: (query: Query) => Promise<T>): Promise<T> =>
  runInChildProcess(path, work).catch((error: EngineFailure) => {
    throw isDamage(error) ? new InvalidDatabase('its database is damaged') : error
  })

const isDamage = ({ code }: { code?: string }) =>
  code === 'SQLITE_NOTADB' || code?.startsWith('SQLITE_CORRUPT') === true
