import { createHash, hash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import * as v from 'valibot'
import { Problem } from '../contract/errors.ts'
import type { Growth } from './growingFile.ts'
import { databaseName, format, Manifest, manifestName, maxManifestBytes, type Part } from './manifest.ts'
import { createByteReader, type ByteReader } from './byteReader.ts'
import { notWhole } from './backupErrors.ts'
import { wholeBytes } from './smallFiles.ts'
import { blockBytes, paddingOf, readHeader } from './tar.ts'

/** The properties of an archive: its manifest, size and SHA-256. */
export interface Read {
  manifest: Manifest
  size: number
  sha256: string
}
/**
 * Receives the bytes of a part. A small part has already been checked against its hash. Other parts are checked during the call,
 * and the archive fails afterwards if they differ.
 */
export type TakePart = (part: Part, bytes: Buffer | AsyncIterable<Buffer>) => Promise<void> | void

export interface ReadOptions {
  /** Set if the archive is still being written, to read it as it grows. */
  growth?: Growth
  /** Called with the number of bytes read so far. */
  onProgress?: (bytes: number) => void
}

/** The maximum size of the end of an archive. */
const maxTrailerBytes = 1024 * 1024
const chunkBytes = 1024 * 1024

/**
 * Reads an archive from its first byte to its last. It must contain the manifest, then exactly the parts that the manifest names,
 * in order, each a plain file with the listed size and hash. Nothing in it is ever used as a path.
 * @param admit called with the manifest before anything else is read; if it throws, reading ends
 * @throws Problem INVALID_BACKUP, or the errors of `admit` and `take`
 */
export async function readArchive(
  path: string,
  admit: (manifest: Manifest) => Promise<void>,
  take: TakePart,
  { growth, onProgress }: ReadOptions = {},
): Promise<Read> {
  const digest = createHash('sha256')
  const file = await open(path)
  try {
    const fileBytes = growth ? Infinity : (await file.stat()).size
    let size = 0
    async function* raw() {
      for (;;) {
        while (growth && size >= growth.bytes && !growth.isWhole) await growth.untilMore()
        const wanted = growth && !growth.isWhole ? Math.min(chunkBytes, growth.bytes - size) : chunkBytes
        // A separate buffer, because several small chunks can wait to be unpacked.
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, size)
        if (bytesRead === 0) return
        const chunk = buffer.subarray(0, bytesRead)
        digest.update(chunk)
        size += bytesRead
        onProgress?.(size)
        yield chunk
      }
    }
    const manifest = await pipeline(raw, createGunzip({ chunkSize: chunkBytes }), unpacked =>
      readMembers(createByteReader(unpacked as AsyncIterable<Buffer>), fileBytes, admit, take),
    )
    return { manifest, size, sha256: digest.digest('hex') }
  } catch (error) {
    throw isOfStreams(error as NodeJS.ErrnoException) ? notWhole('it is damaged or incomplete', error) : error
  } finally {
    await file.close()
  }
}

async function readMembers(
  bytes: ByteReader,
  fileBytes: number,
  admit: (manifest: Manifest) => Promise<void>,
  take: TakePart,
): Promise<Manifest> {
  const manifest = await readManifest(bytes, fileBytes)
  await admit(manifest)
  for (const part of manifest.parts) {
    const header = readHeader(await bytes.readExactly(blockBytes))
    if (!header) throw notWhole('parts are missing')
    if (header.name !== part.name || header.size !== part.size) throw notWhole('its members do not match its manifest')
    await (part.size <= wholeBytes ? takeWhole(part, bytes, take) : takeStream(part, bytes, take))
    await bytes.readExactly(paddingOf(part.size))
  }
  await readEnd(bytes)
  return manifest
}

/** Only a few empty blocks are allowed. */
async function readEnd(bytes: ByteReader): Promise<void> {
  let endBytes = 0
  for (let some = await bytes.readSome(chunkBytes); some.length > 0; some = await bytes.readSome(chunkBytes)) {
    if (endBytes === 0 && some.length >= blockBytes && readHeader(some.subarray(0, blockBytes)))
      throw notWhole('its members do not match its manifest')
    endBytes += some.length
    if (endBytes > maxTrailerBytes || some.some(byte => byte !== 0))
      throw notWhole('it contains more than its manifest lists')
  }
}

async function readManifest(bytes: ByteReader, fileBytes: number): Promise<Manifest> {
  const header = readHeader(await bytes.readExactly(blockBytes))
  if (header?.name !== manifestName || header.size > maxManifestBytes)
    throw notWhole('it does not begin with a manifest')
  const text = (await bytes.readExactly(header.size)).toString('utf8')
  await bytes.readExactly(paddingOf(header.size))
  const found = v.safeParse(v.object({ format: v.pipe(v.number(), v.minValue(format + 1)) }), parse(text))
  if (found.success) throw notWhole('a newer board created it')
  const { success, output } = v.safeParse(Manifest, parse(text))
  if (!success) throw notWhole('its manifest is not valid')
  const names = output.parts.map(part => part.name)
  if (new Set([...names, ...output.missing]).size < names.length + output.missing.length)
    throw notWhole('its manifest lists a part twice')
  if (!names.includes(databaseName) || output.missing.includes(databaseName)) throw notWhole('it has no database')
  // Compression never exceeds a factor of a thousand.
  const claimed = output.parts.reduce((sum, { size }) => sum + size, 0)
  if (claimed > 1100 * fileBytes + maxTrailerBytes)
    throw notWhole('its manifest lists more data than the file can contain')
  return output
}

async function takeWhole(part: Part, bytes: ByteReader, take: TakePart): Promise<void> {
  const content = await bytes.readExactly(part.size)
  if (hash('sha256', content, 'hex') !== part.sha256) throw notDescribed(part)
  await take(part, content)
}

async function takeStream(part: Part, bytes: ByteReader, take: TakePart): Promise<void> {
  const digest = createHash('sha256')
  let left = part.size
  async function* chunks() {
    while (left > 0) {
      const chunk = await bytes.readSome(left)
      if (chunk.length === 0) throw notWhole('it is damaged or incomplete')
      digest.update(chunk)
      left -= chunk.length
      yield chunk
    }
  }
  await take(part, chunks())
  if (left > 0 || digest.digest('hex') !== part.sha256) throw notDescribed(part)
}

const notDescribed = ({ name }: Part) => notWhole(`${name} does not match its manifest`)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The errors of streams for a file that is not an archive, and for a premature end of another stream. */
const isOfStreams = (error: NodeJS.ErrnoException): boolean =>
  !(error instanceof Problem || error instanceof TypeError || error.syscall) &&
  /^(Z_|ERR_STREAM|STREAM_|$)/.test(error.code ?? '')
