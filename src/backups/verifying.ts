import { randomBytes } from 'node:crypto'
import { mkdir, readdir, statfs } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { makePrivateFolder } from '../config/folders.ts'
import { Problem } from '../contract/errors.ts'
import { isSealingKey } from '../identity/seal.ts'
import { examineDatabase, InvalidDatabase, type DatabaseContents } from '../store/copies.ts'
import { attachmentsName, databaseName, keyName, type Manifest, type Part } from './manifest.ts'
import { notWhole, readArchive, type Read } from './reading.ts'
import { createUnpacking, drain, whole } from './unpacking.ts'

const spareBytes = 16 * 1024 * 1024

export interface VerifyOptions {
  /** A new folder: what is unpacked goes here. */
  work: string
  /** Unpack every part, synced to disk, and not only the database. Attachments that lie in the folder `reuse` are linked. */
  unpack?: { reuse?: string }
  /** Told how many bytes of the archive were read. */
  onProgress?: (bytes: number) => void
  signal?: AbortSignal
}

/**
 * Reads an archive whole and holds it to its manifest: every part is there, of its size and hash, and nothing else is; the database
 * opens, is sound, is a board's, and names exactly the attachments that are there.
 * @throws Problem INVALID_BACKUP, DISK_FULL when what it holds would not fit on the disk
 */
export async function verifyArchive(path: string, { work, unpack, onProgress, signal }: VerifyOptions): Promise<Read> {
  makePrivateFolder(work)
  if (unpack) await mkdir(join(work, attachmentsName), { mode: 0o700 })
  const [attachments, others] = [
    createUnpacking(work, unpack !== undefined, unpack?.reuse),
    createUnpacking(work, unpack !== undefined),
  ]
  const take = async (part: Part, bytes: AsyncIterable<Buffer>) => {
    if (part.name === databaseName) return others.take(part, bytes)
    if (part.name === keyName) return takeKey(bytes, key => unpack && others.take(part, key))
    return unpack ? attachments.take(part, bytes) : drain(bytes)
  }
  const written = () => Promise.all([attachments.done(), others.done()])
  const read = await readArchive(path, manifest => requireRoom(work, manifest, unpack), take, {
    onProgress,
    signal,
  }).catch(async error => {
    await written().catch(() => {
      /* The first failure is told. */
    })
    throw error
  })
  await written()
  const examined = await examineDatabase(join(work, databaseName), signal).catch(error => {
    throw error instanceof InvalidDatabase ? notWhole(error.message) : error
  })
  requireAgreement(read.manifest, examined)
  return read
}

async function requireRoom(work: string, { parts }: Manifest, unpack?: { reuse?: string }): Promise<void> {
  const present = new Set(unpack?.reuse === undefined ? [] : await readdir(unpack.reuse).catch(() => []))
  const isWritten = (name: string) => (unpack ? !present.has(basename(name)) : name === databaseName)
  const wanted = parts.reduce((sum, { name, size }) => sum + (isWritten(name) ? size : 0), spareBytes)
  const { bavail, bsize } = await statfs(work)
  if (wanted > bavail * bsize)
    throw new Problem(
      'DISK_FULL',
      `To unpack the backup takes ${wanted} bytes, and the disk has ${bavail * bsize} left.`,
      { retryAfterSecs: 30 },
    )
}

function requireAgreement({ schemaVersion, parts, missing }: Manifest, examined: DatabaseContents): void {
  if (examined.schemaVersion !== schemaVersion)
    throw notWhole('its database is not of the version that its manifest names')
  const named = new Set(examined.files.map(({ name }) => `${attachmentsName}/${name}`))
  const present = [...parts.map(({ name }) => name).filter(name => name.startsWith(attachmentsName)), ...missing]
  if (present.length !== named.size || present.some(name => !named.has(name)))
    throw notWhole('its attachments are not those of its database')
}

async function takeKey(
  bytes: AsyncIterable<Buffer>,
  keep: (key: AsyncIterable<Buffer>) => Promise<void> | undefined,
): Promise<void> {
  const key = await whole(bytes)
  if (!isSealingKey(key.toString('utf8').trim())) throw notWhole('its sealing key is none')
  await keep(Readable.from([key]))
}

/** A name for a folder or file that is worked on. */
export const workName = (prefix: string): string => prefix + randomBytes(8).toString('hex')
