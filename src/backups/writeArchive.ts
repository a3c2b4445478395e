import { closeSync, fstatSync, readSync, writeSync, writevSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import { storedMember } from './gzip.ts'
import type { Grown } from './growingFile.ts'
import { manifestName, type Manifest, type Part } from './manifest.ts'
import { notWhole } from './backupErrors.ts'
import { openPlain, readExactly, wholeBytes } from './smallFiles.ts'
import { blockBytes, headerWriter, paddingOf } from './tar.ts'

const compress = promisify(gzip)
/** A database compresses well at the fastest level. */
const quickest = 1
/** Attachments are often already compressed. A batch that would not shrink is stored, in a tenth of the time. */
const worthwhile = 0.95
const probeBytes = 4 * 1024
/** The extra space in the buffer of a compressed batch, so that a batch that does not shrink still becomes one piece. */
const memberBytes = 1024
/** The number of batches that are compressed concurrently, each by a thread of the pool, which other work also needs. */
const maxCompressing = 2
/** The size of a batch, which becomes a separate gzip member in one write. */
const batchBytes = 256 * 1024
/** Limits the unsynced bytes, so that a commit of the database, which is also synced, does not wait for them. */
const syncEveryBytes = 8 * 1024 * 1024

/**
 * Writes an archive into a new file, 0600 and synced: the manifest, then its parts in order. Reads and writes without the thread
 * pool, so it needs a separate thread.
 * @param pathOf returns the path of a part's file
 * @param onGrowth called with the number of readable bytes
 * @throws Problem INVALID_BACKUP if a file is missing or has another size, or the file system's error; in this case, a part of
 * the archive is left behind
 */
export async function writeArchive(
  path: string,
  manifest: Manifest,
  pathOf: (part: Part) => string,
  onGrowth: (grown: Grown) => void,
): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  let syncing: Promise<void> = Promise.resolve()
  try {
    let [bytes, unsyncedBytes] = [0, 0]
    for await (const pieces of compressBatches(batchesOf(manifest, pathOf))) {
      const length = writeAll(file.fd, pieces)
      bytes += length
      unsyncedBytes += length
      onGrowth({ bytes, isWhole: false })
      if (unsyncedBytes < syncEveryBytes) continue
      unsyncedBytes = 0
      await syncing
      syncing = file.datasync()
      syncing.catch(() => {
        /* The error is handled where the promise is awaited. */
      })
    }
    await syncing
    await file.sync()
    onGrowth({ bytes, isWhole: true })
  } finally {
    await syncing.catch(() => {
      /* The first error is reported. */
    })
    await file.close()
  }
}

/** The bytes of the tar file, in batches. */
function* batchesOf(manifest: Manifest, pathOf: (part: Part) => string): Generator<Buffer> {
  const writeHeader = headerWriter(new Date(manifest.createdAt))
  const begin = createBuffers(batchBytes + wholeBytes + 2 * blockBytes)
  let [batch, length] = [begin(), 0]
  const pad = (size: number) => {
    batch.fill(0, length, length + paddingOf(size))
    length += paddingOf(size)
  }
  const text = Buffer.from(`${JSON.stringify(manifest)}\n`)
  const start = Buffer.alloc(blockBytes + text.length + paddingOf(text.length))
  writeHeader(start, 0, { name: manifestName, size: text.length })
  text.copy(start, blockBytes)
  yield start
  for (const part of manifest.parts) {
    writeHeader(batch, length, part)
    length += blockBytes
    if (part.size <= wholeBytes) {
      if (!readExactly(pathOf(part), batch, length, part.size)) throw isAnother(part)
      length += part.size
    } else {
      yield batch.subarray(0, length)
      yield* chunksOf(part, pathOf(part), begin)
      ;[batch, length] = [begin(), 0]
    }
    pad(part.size)
    if (length < batchBytes) continue
    yield batch.subarray(0, length)
    ;[batch, length] = [begin(), 0]
  }
  batch.fill(0, length, length + 2 * blockBytes)
  yield batch.subarray(0, length + 2 * blockBytes)
}

/** Reusable buffers: one per batch in progress, and one that is being filled. */
function createBuffers(size: number): () => Buffer {
  const buffers = Array.from({ length: maxCompressing + 2 }, () => Buffer.alloc(size))
  let turn = 0
  return () => buffers[turn++ % buffers.length]!
}

function* chunksOf(part: Part, path: string, begin: () => Buffer): Generator<Buffer> {
  const descriptor = openPlain(path)
  if (descriptor === undefined) throw isAnother(part)
  try {
    if (fstatSync(descriptor).size !== part.size) throw isAnother(part)
    for (let left = part.size; left > 0;) {
      const chunk = begin()
      const length = readSync(descriptor, chunk, 0, Math.min(batchBytes, left), null)
      if (length === 0) throw isAnother(part)
      left -= length
      yield chunk.subarray(0, length)
    }
  } finally {
    closeSync(descriptor)
  }
}

const isAnother = ({ name }: Part) => notWhole(`the file of ${name} has changed`)

/** Compresses each batch into a separate gzip member, in order. A file of several members unpacks like one (RFC 1952). */
async function* compressBatches(batches: Iterable<Buffer>): AsyncGenerator<Buffer[]> {
  const members: (Promise<Buffer> | Buffer[])[] = []
  const next = async () => {
    const member = await members.shift()!
    return Array.isArray(member) ? member : [member]
  }
  for (const batch of batches) {
    const member = shrinks(batch)
      ? compress(batch, { level: quickest, chunkSize: batch.length + memberBytes })
      : storedMember(batch)
    if (!Array.isArray(member))
      member.catch(() => {
        /* The error is handled where the promise is awaited. */
      })
    members.push(member)
    if (members.length >= maxCompressing) yield await next()
  }
  while (members.length > 0) yield await next()
}

/** Tests the middle of the batch, because files often begin with a compressible header. */
function shrinks(batch: Buffer): boolean {
  const middle = Math.max(0, (batch.length - probeBytes) >> 1)
  const probe = batch.subarray(middle, middle + probeBytes)
  return gzipSync(probe, { level: quickest }).length < probe.length * worthwhile
}

/** @returns the number of bytes */
function writeAll(descriptor: number, pieces: Buffer[]): number {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  let written = writevSync(descriptor, pieces)
  if (written === length) return length
  // Writes the bytes that a nearly full disk did not accept at once.
  const whole = Buffer.concat(pieces)
  while (written < length) written += writeSync(descriptor, whole, written)
  return length
}
