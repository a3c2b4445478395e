import { mkdir, readdir, statfs } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { makePrivateFolder } from '../config/folders.ts'
import type { BackupOrigin } from '../contract/server/backups.ts'
import { Problem } from '../contract/errors.ts'
import { isSealingKey } from '../identity/seal.ts'
import { examineDatabase, InvalidDatabase, type DatabaseContents } from '../store/engine/databaseCopy.ts'
import { attachmentsName, databaseName, keyName, type Manifest, type Part } from './manifest.ts'
import { notWhole } from './backupErrors.ts'
import { readArchive, type ReadOptions } from './readArchive.ts'
import { createUnpacking, drainBytes } from './unpackArchive.ts'

const spareBytes = 16 * 1024 * 1024

/**
 * The location of the archive's database: a file that already has its content, so that the database is not unpacked, or a folder to which
 * it is unpacked.
 */
export type Place =
  | { database: string }
  | {
      /** A new folder for the unpacked files. */
      work: string
      /** Unpacks every part, synced to disk, instead of only the database. Attachments that exist in the folder `reuse` are linked. */
      unpack?: { reuse?: string }
    }

/** The properties of a whole archive. */
export interface Verified {
  size: number
  sha256: string
  createdAt: string
  version: string
  schemaVersion: number
  origin: BackupOrigin
  withKey: boolean
  databaseSize: number
  attachments: number
  missing: string[]
}

/**
 * Reads an archive completely and checks it against its manifest: every part exists with its size and hash, and nothing else
 * does; the database opens, is intact, belongs to a board, and names exactly the existing attachments.
 * @throws Problem INVALID_BACKUP, DISK_FULL if its content would not fit on the disk
 */
export async function examineArchive(path: string, place: Place, options: ReadOptions = {}): Promise<Verified> {
  let examining = 'database' in place ? examine(place.database) : undefined
  const { take, finish } = await takerOf(place, () => {
    if ('work' in place) examining = examine(join(place.work, databaseName))
  })
  const read = await readArchive(path, manifest => requireRoom(place, manifest), take, options).catch(async error => {
    await finish().catch(() => {
      /* The first error is reported. */
    })
    throw error
  })
  await finish()
  requireAgreement(read.manifest, await examining!)
  return verifiedOf(read)
}

/** Returns the function that processes each part. @param onDatabase called when the database is unpacked */
async function takerOf(place: Place, onDatabase: () => void) {
  if ('database' in place)
    return { take: (_: Part, bytes: Buffer | AsyncIterable<Buffer>) => drainBytes(bytes), finish: noop }
  const { work, unpack } = place
  makePrivateFolder(work)
  if (unpack) await mkdir(join(work, attachmentsName), { mode: 0o700 })
  const [attachments, others] = [
    createUnpacking(work, unpack !== undefined, unpack?.reuse),
    createUnpacking(work, unpack !== undefined),
  ]
  return {
    take: async (part: Part, bytes: Buffer | AsyncIterable<Buffer>) => {
      if (part.name === keyName) requireKey(bytes)
      if (part.name === databaseName) {
        await others.take(part, bytes)
        onDatabase()
      } else if (!unpack) await drainBytes(bytes)
      else await (part.name === keyName ? others : attachments).take(part, bytes)
    },
    finish: () => Promise.all([attachments.done(), others.done()]),
  }
}

const noop = async () => {}

/** Starts to examine a database while the rest of the archive is read. */
function examine(path: string): Promise<DatabaseContents> {
  const examining = examineDatabase(path).catch(error => {
    throw error instanceof InvalidDatabase ? notWhole(error.message) : error
  })
  examining.catch(() => {
    /* The error is handled where the promise is awaited. */
  })
  return examining
}

async function requireRoom(place: Place, { parts }: Manifest): Promise<void> {
  if ('database' in place) return
  const { work, unpack } = place
  const present = new Set(unpack?.reuse === undefined ? [] : await readdir(unpack.reuse).catch(() => []))
  const isWritten = (name: string) => (unpack ? !present.has(basename(name)) : name === databaseName)
  const wanted = parts.reduce((sum, { name, size }) => sum + (isWritten(name) ? size : 0), spareBytes)
  const { bavail, bsize } = await statfs(work)
  if (wanted > bavail * bsize)
    throw new Problem(
      'DISK_FULL',
      `Unpacking the backup requires ${wanted} bytes, and the disk has ${bavail * bsize} left.`,
      { retryAfterSecs: 30 },
    )
}

function requireAgreement({ schemaVersion, parts, missing }: Manifest, examined: DatabaseContents): void {
  if (examined.schemaVersion !== schemaVersion)
    throw notWhole('the version of its database is not the one in its manifest')
  const named = new Set(examined.files.map(({ name }) => `${attachmentsName}/${name}`))
  const present = [...parts.map(({ name }) => name).filter(name => name.startsWith(attachmentsName)), ...missing]
  if (present.length !== named.size || present.some(name => !named.has(name)))
    throw notWhole('its attachments do not match its database')
}

function requireKey(bytes: Buffer | AsyncIterable<Buffer>): void {
  if (!Buffer.isBuffer(bytes) || !isSealingKey(bytes.toString('utf8').trim()))
    throw notWhole('its sealing key is not valid')
}

function verifiedOf({ manifest, size, sha256 }: { manifest: Manifest; size: number; sha256: string }): Verified {
  const { createdAt, version, schemaVersion, origin, parts, missing } = manifest
  return {
    size,
    sha256,
    createdAt,
    version,
    schemaVersion,
    origin,
    withKey: parts.some(({ name }) => name === keyName),
    databaseSize: parts.find(({ name }) => name === databaseName)!.size,
    attachments: parts.filter(({ name }) => name.startsWith(attachmentsName)).length,
    missing,
  }
}
