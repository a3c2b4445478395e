import { randomBytes } from 'node:crypto'
import { mkdir, open, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makePrivateFolder } from '../config/folders.ts'
import { Problem } from '../contract/errors.ts'
import { isSealingKey } from '../identity/seal.ts'
import { examineDatabase, Unsound, type Examined } from '../store/copies.ts'
import { attachmentsName, databaseName, keyName, type Manifest, type Part } from './manifest.ts'
import { notWhole, readArchive, type Read } from './reading.ts'

/** Parts that are being written and synced at the same time, and the largest that is held in memory for that. */
const mostAtOnce = 16
const wholeBytes = 256 * 1024
const spareBytes = 32 * 1024 * 1024

export interface VerifyOptions {
  /** A new folder: what is unpacked goes here. */
  work: string
  /** Unpack every part, synced to disk, and not only the database. */
  unpack?: boolean
  /** Told how many bytes of the archive were read. */
  onProgress?: (bytes: number) => void
  signal?: AbortSignal
}

/**
 * Reads an archive whole and holds it to its manifest: every part is there, of its size and hash, and nothing else is; the database
 * opens, is sound, is a board's, and names exactly the attachments that are there.
 * @throws Problem INVALID_BACKUP, DISK_FULL when what it holds would not fit on the disk
 */
export async function verifyArchive(path: string, { work, unpack = false, onProgress, signal }: VerifyOptions): Promise<Read> {
  makePrivateFolder(work)
  if (unpack) await mkdir(join(work, attachmentsName), { mode: 0o700 })
  const writes = createWrites()
  const take = async (part: Part, bytes: AsyncIterable<Buffer>) => {
    if (part.name === keyName) return takeKey(bytes, key => writes.add(join(work, keyName), key, unpack))
    if (!unpack && part.name !== databaseName) for await (const _ of bytes);
    else if (part.size > wholeBytes) await writePart(join(work, part.name), bytes, unpack)
    else await writes.add(join(work, part.name), await whole(bytes), unpack)
  }
  const read = await readArchive(path, manifest => requireRoom(work, manifest, unpack), take, { onProgress, signal }).finally(() => writes.settled())
  await writes.done()
  const examined = await examineDatabase(join(work, databaseName), signal).catch(error => { throw error instanceof Unsound ? notWhole(error.message) : error })
  requireAgreement(read.manifest, examined)
  return read
}

async function requireRoom(work: string, { parts }: Manifest, unpack: boolean): Promise<void> {
  const wanted = parts.reduce((sum, { name, size }) => sum + (unpack || name === databaseName ? size : 0), spareBytes)
  const { bavail, bsize } = await statfs(work)
  if (wanted > bavail * bsize) throw new Problem('DISK_FULL', `To unpack the backup takes ${wanted} bytes, and the disk has ${bavail * bsize} left.`, { retryAfterSecs: 30 })
}

function requireAgreement({ schemaVersion, parts, missing }: Manifest, examined: Examined): void {
  if (examined.schemaVersion !== schemaVersion) throw notWhole('its database is not of the version that its manifest names')
  const named = new Set(examined.files.map(({ name }) => `${attachmentsName}/${name}`))
  const present = [...parts.map(({ name }) => name).filter(name => name.startsWith(attachmentsName)), ...missing]
  if (present.length !== named.size || present.some(name => !named.has(name))) throw notWhole('its attachments are not those of its database')
}

async function takeKey(bytes: AsyncIterable<Buffer>, keep: (key: Buffer) => Promise<void>): Promise<void> {
  const key = await whole(bytes)
  if (!isSealingKey(key.toString('utf8').trim())) throw notWhole('its sealing key is none')
  await keep(key)
}

async function whole(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of bytes) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function writePart(path: string, bytes: AsyncIterable<Buffer> | Buffer, sync: boolean): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await writeFile(file, bytes)
    if (sync) await file.sync()
  } finally {
    await file.close()
  }
}

/** Writes small files side by side: a sync to disk costs the same for several. */
function createWrites(): { add(path: string, bytes: Buffer, sync: boolean): Promise<void>; settled(): Promise<void>; done(): Promise<void> } {
  const running = new Set<Promise<void>>()
  let failure: { error: unknown } | undefined
  const check = () => { if (failure) throw failure.error }
  return {
    add: async (path, bytes, sync) => {
      check()
      const write = writePart(path, bytes, sync).catch((error: unknown) => { failure ??= { error } }).finally(() => running.delete(write))
      running.add(write)
      if (running.size >= mostAtOnce) await Promise.race(running)
    },
    settled: async () => { await Promise.all(running) },
    done: async () => { check() },
  }
}

/** A name for a folder or file that is worked on. */
export const workName = (prefix: string): string => prefix + randomBytes(8).toString('hex')
