import { isWithin } from '../config/folders.ts'
import { isUtf8 } from 'node:buffer'
import { constants, lstat, type Stats } from 'node:fs'
import { open, opendir, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { InferOutput } from 'valibot'
import type { ServerConfig } from '../config/server.ts'
import { invalid, Problem } from '../contract/errors.ts'
import type { Entry as EntrySchema, filesystem } from '../contract/projects/filesystem.ts'
import type { Output } from '../contract/route.ts'
import type { Reader } from '../store/engine/database.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { contentTypeOf, sniffedBytes } from './contentTypes.ts'
import {
  hiddenIn,
  isHidden,
  resolveInRoots,
  nameOf,
  parentOf,
  rootsOf,
  type Hidden,
  type Place,
  type Root,
} from './roots.ts'

type Entry = InferOutput<typeof EntrySchema>
type Listing = Output<typeof filesystem.browse>
type Read = Output<typeof filesystem.read>
interface Server {
  config: ServerConfig
  db: Reader
}

const maxEntries = 10_000
const maxConcurrentReads = 16
const windowBytes = 1024 * 1024
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants

/**
 * Lists a folder below the caller's roots, folders first; without a path, the roots. Does not follow links.
 * @throws Problem PATH_NOT_ABSOLUTE, PATH_OUTSIDE_ROOTS, FILE_NOT_FOUND, VALIDATION_FAILED
 */
export async function listFolder({ config, db }: Server, caller: Caller, path: string | undefined): Promise<Listing> {
  const [roots, hidden] = await Promise.all([rootsOf(config, db, caller), hiddenIn(config)])
  if (path === undefined) return { path: null, parent: null, ...(await listRoots(roots, hidden)) }
  const place = await resolveInRoots(roots, hidden, path)
  if (!place.stats.isDirectory()) throw invalid('path', 'must be a folder')
  const handle = await openExactly(roots, place, O_DIRECTORY)
  try {
    return {
      path: place.path,
      parent: parentOf(roots, place.path),
      ...(await listEntries(await folderOf(handle, place), place.path, hidden)),
    }
  } finally {
    await handle.close()
  }
}

/**
 * Reads up to 1 MiB of a file from `offset` on: text if that part is UTF-8 without NUL, otherwise base64. Text is not cut within
 * a character, so the next offset is this one plus the text's bytes.
 * @throws Problem PATH_NOT_ABSOLUTE, PATH_OUTSIDE_ROOTS, FILE_NOT_FOUND, VALIDATION_FAILED
 */
export async function readPart({ config, db }: Server, caller: Caller, path: string, offset: number): Promise<Read> {
  const [roots, hidden] = await Promise.all([rootsOf(config, db, caller), hiddenIn(config)])
  const place = await resolveInRoots(roots, hidden, path)
  if (!place.stats.isFile()) throw invalid('path', 'must be a file')
  const handle = await openExactly(roots, place, O_NONBLOCK)
  try {
    return await readWindow(handle, place.path, offset)
  } finally {
    await handle.close()
  }
}

/**
 * Opens exactly the located file, and fails if the file or a parent folder was replaced in the meantime. A replacement can be a
 * device or a pipe, which must not be opened.
 */
async function openExactly(roots: readonly Root[], { real, stats }: Place, flags: number): Promise<FileHandle> {
  const handle = await open(real, O_RDONLY | O_NOFOLLOW | flags).catch(() => {
    throw new Problem('FILE_NOT_FOUND')
  })
  try {
    const [opened, at] = [await handle.stat(), await pathOf(handle, real)]
    if (opened.dev === stats.dev && opened.ino === stats.ino && roots.some(root => isWithin(root.real, at)))
      return handle
  } catch {
    /* The file was deleted in the meantime. */
  }
  await handle.close()
  throw new Problem('FILE_NOT_FOUND')
}

/** The path of an open file, from the kernel if possible. */
const pathOf = (handle: FileHandle, path: string): Promise<string> =>
  process.platform === 'linux' ? readlink(`/proc/self/fd/${handle.fd}`) : realpath(path)

/** A path of an open folder that stays valid when the folder is renamed. */
const folderOf = async (handle: FileHandle, { real }: Place): Promise<string> =>
  process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : real

async function listRoots(roots: readonly Root[], hidden: Hidden): Promise<Pick<Listing, 'entries' | 'truncated'>> {
  const found = await readEntries(
    roots.slice(0, maxEntries).map(root => ({ at: root.real, path: root.path, name: nameOf(root.path) })),
    hidden,
  )
  return {
    entries: found.filter(({ type }) => type === 'folder').sort(byKindAndName),
    truncated: roots.length > maxEntries,
  }
}

async function listEntries(
  folder: string,
  path: string,
  hidden: Hidden,
): Promise<Pick<Listing, 'entries' | 'truncated'>> {
  const named: Named[] = []
  let truncated = false
  for await (const { name } of await opendir(folder, { bufferSize: 1024 })) {
    truncated = named.length === maxEntries
    if (truncated) break
    named.push({ at: join(folder, name), path: join(path, name), name })
  }
  return { entries: (await readEntries(named, hidden)).sort(byKindAndName), truncated }
}

/** The path and the displayed name of an entry. */
interface Named {
  at: string
  path: string
  name: string
}

/**
 * Stats entries, some at a time. Omits entries that vanish in the meantime. Uses callbacks, because promises take one and a half
 * times as long.
 */
function readEntries(named: readonly Named[], hidden: Hidden): Promise<Entry[]> {
  const entries: Entry[] = []
  let [next, over] = [0, 0]
  return new Promise(resolve => {
    const readNext = () => {
      if (over === named.length) return resolve(entries)
      const each = named[next++]
      if (each)
        readEntry(each, hidden, entry => {
          if (entry) entries.push(entry)
          over++
          readNext()
        })
    }
    readNext()
    for (let lane = 1; lane < Math.min(maxConcurrentReads, named.length); lane++) readNext()
  })
}

function readEntry({ at, path, name }: Named, hidden: Hidden, done: (entry: Entry | undefined) => void): void {
  lstat(at, (error, stats) => {
    if (error || isHidden(hidden, stats)) return done(undefined)
    const entry: Entry = {
      name,
      path,
      type: typeOf(stats),
      size: stats.isFile() ? stats.size : null,
      modifiedAt: stats.mtime.toISOString(),
      isGitRepository: false,
    }
    if (entry.type !== 'folder') return done(entry)
    lstat(join(at, '.git'), missing => done({ ...entry, isGitRepository: !missing }))
  })
}

const typeOf = (stats: Stats): Entry['type'] =>
  stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'other'

const byKindAndName = (a: Entry, b: Entry) =>
  (b.type === 'folder' ? 1 : 0) - (a.type === 'folder' ? 1 : 0) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)

async function readWindow(handle: FileHandle, path: string, offset: number): Promise<Read> {
  const { size } = await handle.stat()
  const bytes = await readAt(handle, offset, windowBytes + 1)
  const truncated = bytes.length > windowBytes
  const start = offset === 0 ? bytes.subarray(0, sniffedBytes) : await readAt(handle, 0, sniffedBytes)
  const part = bytes.subarray(0, windowBytes)
  const text = truncated ? part.subarray(0, wholeCharacters(part)) : part
  const isText = !text.includes(0) && isUtf8(text)
  return {
    path,
    size,
    contentType: await contentTypeOf(start, path),
    encoding: isText ? 'utf8' : 'base64',
    content: isText ? text.toString('utf8') : part.toString('base64'),
    truncated,
  }
}

/** Reads until the end of the file or `maxBytes`. */
async function readAt(handle: FileHandle, offset: number, maxBytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(maxBytes)
  let length = 0
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, maxBytes - length, offset + length).catch(() => {
      throw new Problem('FILE_NOT_FOUND', 'The file cannot be read.')
    })
    length += bytesRead
    if (bytesRead === 0 || length === maxBytes) return buffer.subarray(0, length)
  }
}

/** The number of bytes without a cut last character. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (byte < 0x80) break
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? bytes.length - back : bytes.length
  }
  return bytes.length
}
