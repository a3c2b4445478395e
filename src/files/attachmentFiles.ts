import { createHash, randomBytes } from 'node:crypto'
import { open, opendir, rename, rm, stat, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../config/folders.ts'
import { Problem } from '../contract/errors.ts'
import { storedNames, type SavedFile } from '../store/cards/attachments.ts'
import type { Reader } from '../store/engine/database.ts'
import { contentTypeOf, sniffedBytes } from './contentTypes.ts'
import { cleanFilename } from './filenames.ts'

const hourMs = 3_600_000

/**
 * Writes a stream to a new file with a random name, synced, and renames it when complete. A failed stream leaves no
 * file.
 * @throws Problem DISK_FULL, or the stream's error
 */
export async function saveFile(
  folder: string,
  source: AsyncIterable<Buffer>,
  sentName: string | undefined,
): Promise<SavedFile> {
  const storedAs = randomBytes(16).toString('hex')
  const [partial, whole] = [join(folder, `${storedAs}.part`), join(folder, storedAs)]
  const file = await open(partial, 'wx', 0o600)
  try {
    const { size, sha256, start } = await writeAll(file, source)
    await file.sync()
    await file.close()
    const filename = cleanFilename(sentName)
    const contentType = await contentTypeOf(start, filename)
    await rename(partial, whole)
    await syncFolder(folder)
    return { storedAs, size, sha256, filename, contentType }
  } catch (error) {
    await file.close().catch(() => {
      /* The handle is already closed. */
    })
    await Promise.all([partial, whole].map(path => rm(path, { force: true })))
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC'
      ? new Problem('DISK_FULL', undefined, { cause: error, retryAfterSecs: 30 })
      : error
  }
}

async function writeAll(
  file: FileHandle,
  source: AsyncIterable<Buffer>,
): Promise<{ size: number; sha256: string; start: Buffer }> {
  const hash = createHash('sha256')
  let size = 0
  let start: Buffer = Buffer.alloc(0)
  for await (const chunk of source) {
    hash.update(chunk)
    if (start.length < sniffedBytes) start = Buffer.concat([start, chunk.subarray(0, sniffedBytes - start.length)])
    size += chunk.length
    for (let written = 0; written < chunk.length;) written += (await file.write(chunk, written)).bytesWritten
  }
  return { size, sha256: hash.digest('hex'), start }
}

/** The files of a board's attachments. */
export interface AttachmentFiles {
  readonly folder: string
  /** Deletes a file. A missing file is not an error. A file that is held, or that cannot be deleted now, is left to `sweep`. */
  remove(storedAs: string): Promise<void>
  /** Prevents the deletion of files until the returned function is called. */
  hold(): () => void
  /** Deletes files without an attachment that were not written to for an hour. @returns the number of deleted files */
  sweep(db: Reader): Promise<number>
}

export function createAttachmentFiles(folder: string): AttachmentFiles {
  let holds = 0
  return {
    folder,
    remove: async storedAs => {
      if (holds === 0) await removeFile(folder, storedAs)
    },
    hold: () => {
      holds++
      return () => {
        holds--
      }
    },
    sweep: db => sweepFolder(folder, db, () => holds > 0),
  }
}

/** Deletes a file. Ignores errors. */
export const removeFile = (folder: string, storedAs: string): Promise<void> =>
  unlink(join(folder, storedAs)).catch(() => {
    /* The sweep removes the file. */
  })

async function sweepFolder(folder: string, db: Reader, isHeld: () => boolean): Promise<number> {
  let swept = 0
  let names: string[] = []
  const sweep = async () => {
    const stored = new Set(await storedNames(db, names))
    for (const name of names)
      if (!stored.has(name) && !isHeld() && (await isOld(join(folder, name))))
        swept += await unlink(join(folder, name)).then(
          () => 1,
          () => 0,
        )
    names = []
  }
  for await (const entry of await opendir(folder)) {
    if (entry.isFile() && names.push(entry.name) === 500) await sweep()
  }
  await sweep()
  return swept
}

const isOld = (path: string) =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs < Date.now() - hourMs,
    () => false,
  )
