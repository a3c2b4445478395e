import { createHash, hash } from 'node:crypto'
import { createReadStream, lstatSync, readFileSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import { pack, type Pack } from 'tar-stream'
import { manifestName, type Manifest, type Part } from './manifest.ts'

const compress = promisify(gzip)
/** A database shrinks well by the quickest level that there is. */
const quickest = 1
/** Attachments are often compressed already: what would not shrink is stored, in a tenth of the time. */
const stored = 0
const worthwhile = 0.95
const probeBytes = 4 * 1024
/** A member that did not shrink is longer by this at most, and still made in one piece. */
const memberBytes = 1024
/** So many batches are compressed at the same time, each by a thread of the pool, which other work needs too. */
const maxCompressing = 2
const wholeBytes = 256 * 1024
/** For so long small files are read at a stretch, without the thread pool, whose turns would take ten times as long. */
const stretchMs = 2
/** Compressed at once, as a gzip member of its own: each is a turn of the thread pool. */
const batchBytes = 256 * 1024
/** What waits to be synced is never so much that a commit of the database, which is synced too, has to wait for it. */
const syncEveryBytes = 8 * 1024 * 1024

/** A part's file is gone, or has other bytes than the manifest says. */
export class PartChanged extends Error {
  readonly part: Part
  constructor(part: Part) {
    super(`${part.name} is not what it was.`)
    this.part = part
  }
}

/**
 * Writes an archive into a new file, 0600 and synced: the manifest, then its parts in order.
 * @param pathOf where a part's file is
 * @returns size and SHA-256 of the archive
 * @throws PartChanged, the signal's reason, or the file system's error: a part of the file is left then
 */
export async function writeArchive(
  path: string,
  manifest: Manifest,
  pathOf: (part: Part) => string,
  signal?: AbortSignal,
): Promise<{ size: number; sha256: string }> {
  const file = await open(path, 'wx', 0o600)
  try {
    const tar = pack()
    const filling = fill(tar, manifest, pathOf).catch((error: Error) => {
      tar.destroy(error)
      throw error
    })
    const piping = pipeline(
      gather(tar as AsyncIterable<Buffer>),
      compressed,
      members => writeAll(file, members as AsyncIterable<Buffer>),
      { signal },
    )
    const [piped, filled] = await Promise.allSettled([piping, filling])
    signal?.throwIfAborted()
    if (filled.status === 'rejected' && filled.reason instanceof PartChanged) throw filled.reason
    if (piped.status === 'rejected') throw piped.reason
    if (filled.status === 'rejected') throw filled.reason
    return piped.value
  } finally {
    await file.close()
  }
}

async function fill(tar: Pack, manifest: Manifest, pathOf: (part: Part) => string): Promise<void> {
  const mtime = new Date(manifest.createdAt)
  const header = ({ name, size }: Pick<Part, 'name' | 'size'>) => ({ name, size, mode: 0o600, mtime })
  const add = (name: string, bytes: Buffer) =>
    new Promise<void>((resolve, reject) => {
      tar.entry(header({ name, size: bytes.length }), bytes, error => (error ? reject(error) : resolve()))
    })
  await add(manifestName, Buffer.from(`${JSON.stringify(manifest)}\n`))
  let restedAt = performance.now()
  for (const part of manifest.parts) {
    if (part.size <= wholeBytes) await add(part.name, readWhole(part, pathOf(part)))
    else
      await pipeline(
        createReadStream(pathOf(part), { highWaterMark: batchBytes }),
        exactly(part),
        tar.entry(header(part)),
      )
    if (performance.now() - restedAt < stretchMs) continue
    await setImmediate()
    restedAt = performance.now()
  }
  tar.finalize()
}

async function* gather(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [batch, bytes]: [Buffer[], number] = [[], 0]
  for await (const chunk of chunks) {
    batch.push(chunk)
    bytes += chunk.length
    if (bytes < batchBytes) continue
    yield Buffer.concat(batch)
    ;[batch, bytes] = [[], 0]
  }
  yield Buffer.concat(batch)
}

/** Compresses each batch by itself, in order. A file of several gzip members unpacks as if it were one (RFC 1952). */
async function* compressed(batches: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const members: Promise<Buffer>[] = []
  for await (const batch of batches) {
    const member = compress(batch, { level: levelFor(batch), chunkSize: batch.length + memberBytes })
    member.catch(() => {
      /* Handled where it is awaited. */
    })
    members.push(member)
    if (members.length >= maxCompressing) yield await members.shift()!
  }
  for (const member of members) yield await member
}

/** By the middle of the batch, for files often begin with a head that shrinks. */
function levelFor(batch: Buffer): number {
  const middle = Math.max(0, (batch.length - probeBytes) >> 1)
  const probe = batch.subarray(middle, middle + probeBytes)
  return gzipSync(probe, { level: quickest }).length < probe.length * worthwhile ? quickest : stored
}

function readWhole(part: Part, path: string): Buffer {
  const isThere = lstatSync(path, { throwIfNoEntry: false })?.size === part.size
  const bytes = isThere ? readFileSync(path) : undefined
  if (bytes?.length !== part.size || hash('sha256', bytes, 'hex') !== part.sha256) throw new PartChanged(part)
  return bytes
}

/** Passes on a part's bytes, and fails when they turn out to be others. */
function exactly(part: Part): Transform {
  const digest = createHash('sha256')
  let size = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, pass) {
      digest.update(chunk)
      size += chunk.length
      pass(size > part.size ? new PartChanged(part) : null, chunk)
    },
    flush(pass) {
      pass(digest.digest('hex') === part.sha256 ? null : new PartChanged(part))
    },
  })
}

/** Writes chunks one after the other, and syncs as it goes. */
async function writeAll(file: FileHandle, chunks: AsyncIterable<Buffer>): Promise<{ size: number; sha256: string }> {
  const digest = createHash('sha256')
  let [size, unsyncedBytes] = [0, 0]
  for await (const chunk of chunks) {
    digest.update(chunk)
    size += chunk.length
    unsyncedBytes += chunk.length
    for (let done = 0; done < chunk.length;) done += (await file.write(chunk, done)).bytesWritten
    if (unsyncedBytes < syncEveryBytes) continue
    unsyncedBytes = 0
    await file.datasync()
  }
  await file.sync()
  return { size, sha256: digest.digest('hex') }
}
