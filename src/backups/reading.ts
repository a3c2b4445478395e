import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import * as v from 'valibot'
import { extract, type Header } from 'tar-stream'
import { Problem } from '../contract/errors.ts'
import { databaseName, format, Manifest, manifestName, maxManifestBytes, type Part } from './manifest.ts'

/** What an archive turned out to be: its manifest, size and SHA-256. */
export interface Read {
  manifest: Manifest
  size: number
  sha256: string
}
/** Takes the bytes of a part; they are hashed before it gets them, and the archive fails afterwards if they are not the part's. */
export type TakePart = (part: Part, bytes: AsyncIterable<Buffer>) => Promise<void>

/** Each member has a header and is filled up; what stands at the end is little. */
const blockBytes = 1024
const maxTrailerBytes = 1024 * 1024
const chunkBytes = 256 * 1024

export const notWhole = (reason: string, cause?: unknown): Problem =>
  new Problem('INVALID_BACKUP', `The file is not a whole backup of a board: ${reason}.`, { cause })

/**
 * Reads an archive from its first byte to its last. It must hold the manifest, then exactly the parts that the manifest
 * names, in order, each a plain file of the size and hash that stand there; nothing of it is ever used as a path.
 * @param admit told of the manifest before anything else is read: what it throws ends the reading
 * @throws Problem INVALID_BACKUP, or what `admit` and `take` throw
 */
export async function readArchive(
  path: string,
  admit: (manifest: Manifest) => Promise<void>,
  take: TakePart,
  { onProgress, signal }: { onProgress?: (bytes: number) => void; signal?: AbortSignal } = {},
): Promise<Read> {
  const hash = createHash('sha256')
  let size = 0
  const raw = new Transform({
    transform(chunk: Buffer, _encoding, pass) {
      hash.update(chunk)
      size += chunk.length
      onProgress?.(size)
      pass(null, chunk)
    },
  })
  const limit = createLimit()
  const tar = extract()
  const fileBytes = (await stat(path)).size
  const reading = readMembers(
    tar,
    async manifest => {
      limit.allow(requireLikely(manifest, fileBytes))
      await admit(manifest)
    },
    take,
  ).catch((error: Error) => {
    tar.destroy(error)
    throw error
  })
  const [members, streams] = await Promise.allSettled([
    reading,
    pipeline(
      createReadStream(path, { highWaterMark: chunkBytes }),
      raw,
      createGunzip({ chunkSize: chunkBytes }),
      limit.stream,
      tar,
      { signal },
    ),
  ])
  signal?.throwIfAborted()
  const failures = [members, streams].flatMap(outcome =>
    outcome.status === 'rejected' ? [outcome.reason as NodeJS.ErrnoException] : [],
  )
  if (failures.length > 0)
    throw failures.find(each => !isOfStreams(each)) ?? notWhole('it is damaged or cut off', failures[0])
  return { manifest: (members as PromiseFulfilledResult<Manifest>).value, size, sha256: hash.digest('hex') }
}

/** A manifest that claims no more than a file of this size can hold: nothing shrinks to less than a thousandth. */
function requireLikely(manifest: Manifest, fileBytes: number): Manifest {
  const claimed = manifest.parts.reduce((sum, { size }) => sum + size, 0)
  if (claimed > 1100 * fileBytes + maxTrailerBytes) throw notWhole('its manifest claims more than the file can hold')
  return manifest
}

/** Ends a stream that unpacks to more than its manifest says. */
function createLimit(): { stream: Transform; allow(manifest: Manifest): void } {
  let left = maxManifestBytes + blockBytes
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, pass) {
      left -= chunk.length
      pass(left < 0 ? notWhole('it holds more than its manifest says') : null, chunk)
    },
  })
  return {
    stream,
    allow: ({ parts }) => {
      left = parts.reduce((sum, part) => sum + part.size + 2 * blockBytes, maxTrailerBytes)
    },
  }
}

async function readMembers(
  tar: ReturnType<typeof extract>,
  admit: (manifest: Manifest) => Promise<void>,
  take: TakePart,
): Promise<Manifest> {
  let manifest: Manifest | undefined
  let next = 0
  for await (const member of tar) {
    const header = member.header as Header & { pax?: unknown }
    const bytes = member as unknown as AsyncIterable<Buffer>
    if (header.type !== 'file' || header.pax || header.linkname) throw notWhole('a member is not a plain file')
    if (!manifest) {
      manifest = await readManifest(header, bytes)
      await admit(manifest)
      continue
    }
    const part = manifest.parts[next++]
    if (!part || header.name !== part.name || header.size !== part.size)
      throw notWhole('its members are not those of its manifest')
    await takeExactly(part, bytes, take)
  }
  if (!manifest || next < manifest.parts.length) throw notWhole('parts are missing')
  return manifest
}

async function readManifest({ name, size }: Header, bytes: AsyncIterable<Buffer>): Promise<Manifest> {
  if (name !== manifestName || size! > maxManifestBytes) throw notWhole('it does not begin with a manifest')
  const chunks: Buffer[] = []
  for await (const chunk of bytes) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  const found = v.safeParse(v.object({ format: v.pipe(v.number(), v.minValue(format + 1)) }), parse(text))
  if (found.success) throw notWhole('a newer board made it')
  const { success, output } = v.safeParse(Manifest, parse(text))
  if (!success) throw notWhole('its manifest is not valid')
  const names = output.parts.map(part => part.name)
  if (new Set([...names, ...output.missing]).size < names.length + output.missing.length)
    throw notWhole('its manifest names a part twice')
  if (!names.includes(databaseName) || output.missing.includes(databaseName)) throw notWhole('it has no database')
  return output
}

async function takeExactly(part: Part, bytes: AsyncIterable<Buffer>, take: TakePart): Promise<void> {
  const hash = createHash('sha256')
  let size = 0
  async function* hashed() {
    for await (const chunk of bytes) {
      hash.update(chunk)
      size += chunk.length
      yield chunk
    }
  }
  await take(part, hashed())
  if (size !== part.size || hash.digest('hex') !== part.sha256)
    throw notWhole(`${part.name} is not what its manifest says`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What streams say of a file that is no archive, and of each other's end. */
const isOfStreams = (error: NodeJS.ErrnoException): boolean =>
  !(error instanceof Problem || error instanceof TypeError || error.syscall) &&
  /^(Z_|ERR_STREAM|STREAM_|$)/.test(error.code ?? '')
