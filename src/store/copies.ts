import { translate } from './database.ts'
import { runInWorker } from './runInWorker.ts'
import { objectsOf, objectsSql, schemaVersion } from './migrate.ts'

/** An attachment that a database's rows name: its file's name, size in bytes and SHA-256, hexadecimal. */
export interface NamedFile {
  name: string
  size: number
  sha256: string
}
/** What a database file holds: its schema's version, and the files that belong to it. */
export interface Examined {
  schemaVersion: number
  files: NamedFile[]
}
/** A file that is no sound database of a board, and why. */
export class Unsound extends Error {}

/**
 * Copies a database that is in use as it is at one moment into a new file, which is not synced yet. Neither readers nor the writer wait.
 * @throws Problem DISK_FULL, DATABASE_DAMAGED
 */
export async function copyDatabase(from: string, to: string, signal?: AbortSignal): Promise<void> {
  await runInWorker(from, [{ sql: 'VACUUM INTO ?', args: [to] }], signal).catch(error => {
    throw translate(error)
  })
}

/** The files that belong to a copy, and its schema's version. */
export async function filesOfCopy(path: string, signal?: AbortSignal): Promise<Examined> {
  const [version, files] = await look(path, [{ sql: 'PRAGMA user_version' }, { sql: filesSql }], signal)
  return { schemaVersion: Number(version![0]!.user_version), files: files as unknown as NamedFile[] }
}

const filesSql = 'SELECT stored_as AS name, size, sha256 FROM attachments ORDER BY id'

/**
 * Looks through a whole database file that nobody uses: that its pages, indexes and references hold, and that it is a board's,
 * of this program's version or an older one.
 * @throws Unsound
 */
export async function examineDatabase(path: string, signal?: AbortSignal): Promise<Examined> {
  const version = await requireBoard(path, signal)
  const [integrity, references, files] = await look(
    path,
    [{ sql: 'PRAGMA integrity_check(1)' }, { sql: 'PRAGMA foreign_key_check' }, { sql: filesSql }],
    signal,
  )
  const verdict = String(integrity![0]?.integrity_check)
  if (verdict !== 'ok') throw new Unsound(`its database is damaged: ${verdict.replace(/\s+/g, ' ').slice(0, 200)}`)
  if (references!.length > 0)
    throw new Unsound(`its database has rows of ${String(references![0]!.table)} that refer to nothing`)
  return { schemaVersion: version, files: files as unknown as NamedFile[] }
}

/** What is wrong with the pages of a database file, and with its indexes if that is asked for, which takes longer; undefined for nothing. */
export async function findDamage(path: string, withIndexes = false, signal?: AbortSignal): Promise<string | undefined> {
  const check = withIndexes ? 'integrity_check' : 'quick_check'
  const verdict = await runInWorker(path, [{ sql: `PRAGMA ${check}(1)` }], signal).then(
    ([rows]) => String(rows![0]?.[check]),
    (error: { code?: string; message: string }) => {
      if (isDamage(error)) return error.message
      throw error
    },
  )
  return verdict === 'ok' ? undefined : verdict
}

/** A foreign file is refused by the names in its schema, before anything of it is run. */
async function requireBoard(path: string, signal?: AbortSignal): Promise<number> {
  const [version, objects] = await look(path, [{ sql: 'PRAGMA user_version' }, { sql: objectsSql }], signal)
  const present = Number(version![0]?.user_version)
  if (present > schemaVersion)
    throw new Unsound(
      `its database has schema version ${present}, and this program knows versions up to ${schemaVersion}: a newer board made it`,
    )
  if (present < 1 || JSON.stringify(objects) !== JSON.stringify(objectsOf(present)))
    throw new Unsound('its database is not one of a board')
  return present
}

const look = (path: string, statements: Parameters<typeof runInWorker>[1], signal?: AbortSignal) =>
  runInWorker(path, statements, signal).catch((error: { code?: string }) => {
    throw isDamage(error) ? new Unsound('its database is damaged') : error
  })

const isDamage = ({ code }: { code?: string }) =>
  code === 'SQLITE_NOTADB' || code?.startsWith('SQLITE_CORRUPT') === true
