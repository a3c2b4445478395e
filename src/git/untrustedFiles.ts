import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { lstat, mkdir, open, rename, unlink, utimes, writeFile, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { GitFailed } from './git.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants
const maxAtOnce = 1024 * 1024

/** The beginning of a regular file. An agent might have put a link, a pipe or a device in its place. */
export async function readPlain(path: string, maxBytes: number): Promise<string> {
  const { file, stats } = await openPlain(path)
  try {
    return (await readAt(file, 0, Math.min(maxBytes, stats.size))).toString()
  } finally {
    await file.close()
  }
}

/** Copies a regular file, if it exists. A link, pipe or device in its place is ignored. */
export async function copyPlain(from: string, to: string, maxBytes: number): Promise<void> {
  const opened = await openPlain(from).catch(() => undefined)
  if (!opened) return
  const { file, stats } = opened
  try {
    if (stats.size > maxBytes)
      throw new GitFailed('output', `A file of the repository has ${stats.size} bytes; at most ${maxBytes} are read.`)
    await writeFile(
      to,
      stats.size <= maxAtOnce
        ? await readAt(file, 0, stats.size)
        : file.createReadStream({ autoClose: false, start: 0, end: stats.size - 1 }),
      { mode: 0o600 },
    )
    // Git compares the index's own time with the files' times to decide which to read again.
    await utimes(to, Math.floor(stats.atimeMs / 1000), Math.floor(stats.mtimeMs / 1000))
  } finally {
    await file.close()
  }
}

/** Whether two regular files have equal content. */
export async function isSamePlain(one: string, other: string): Promise<boolean> {
  const opened = await Promise.allSettled([openPlain(one), openPlain(other)])
  const files = opened.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
  try {
    const [first, second] = files
    if (!first || !second || first.stats.size !== second.stats.size) return false
    for (let at = 0; at < first.stats.size; at += maxAtOnce) {
      const length = Math.min(maxAtOnce, first.stats.size - at)
      const [here, there] = await Promise.all(files.map(({ file }) => readAt(file, at, length)))
      if (!here!.equals(there!)) return false
    }
    return true
  } finally {
    await Promise.all(files.map(({ file }) => file.close()))
  }
}

async function openPlain(path: string): Promise<{ file: FileHandle; stats: Stats }> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  const stats = await file.stat()
  if (stats.isFile()) return { file, stats }
  await file.close()
  throw new Error('Not a regular file.')
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

/**
 * Works in a folder below `root` that an agent can change at the same time. No link on the way is followed. `work` receives the path of the
 * opened folder. With `creates`, missing folders are created, and links or files in their place are removed.
 */
export async function inFolder<T>(
  root: string,
  path: string,
  work: (folder: string) => Promise<T>,
  creates = false,
): Promise<T> {
  const handles = [await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)]
  const here = () => `/proc/self/fd/${handles.at(-1)!.fd}`
  try {
    for (const part of path.split('/').filter(each => each !== '' && each !== '.')) {
      if (part === '..') throw new Error('A path that escapes its folder.')
      handles.push(await openChild(`${here()}/${part}`, creates))
    }
    return await work(here())
  } finally {
    await Promise.all(handles.map(handle => handle.close()))
  }
}

async function openChild(path: string, creates: boolean): Promise<FileHandle> {
  const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
  try {
    return await open(path, flags)
  } catch (error) {
    if (!creates) throw error
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') await unlink(path)
    // Another operation can have created it in the meantime.
    await mkdir(path, { mode: 0o700 }).catch(() => {})
    return open(path, flags)
  }
}

/** The beginning of a regular file below `root`. Undefined for anything else. */
export const readUntrusted = (root: string, path: string, maxBytes: number): Promise<string | undefined> =>
  inFolder(root, dirname(path), folder => readPlain(`${folder}/${basename(path)}`, maxBytes)).catch(() => undefined)

/** Replaces a path below `root` with a file. */
export const replaceUntrusted = (root: string, path: string, fill: (file: string) => Promise<void>): Promise<void> =>
  inFolder(root, dirname(path), folder => replaceIn(folder, basename(path), fill), true)

/** Replaces a path in an open folder with a file. */
export async function replaceIn(folder: string, name: string, fill: (file: string) => Promise<void>): Promise<void> {
  // Git does not accept a file with this suffix as a ref.
  const temporary = `${folder}/board-${randomUUID()}.lock`
  const target = `${folder}/${name}`
  await fill(temporary)
  if ((await lstat(target).catch(() => undefined))?.isDirectory())
    await rename(target, `${folder}/board-${randomUUID()}.lock`)
  await rename(temporary, target)
}

/** Replaces a path below `root` with a text file. */
export const writeUntrusted = (root: string, path: string, text: string): Promise<void> =>
  replaceUntrusted(root, path, file => writeFile(file, text, { flag: 'wx', mode: 0o600 }))

/** Writes a file below `root` unless it already has this text. */
export async function keepUntrusted(root: string, path: string, text: string): Promise<void> {
  if ((await readUntrusted(root, path, Buffer.byteLength(text) + 1)) !== text) await writeUntrusted(root, path, text)
}
