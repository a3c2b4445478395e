import { createHash, randomBytes } from 'node:crypto'
import { open, opendir, rename, rm, stat, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../config/folders.ts'
import { Problem } from '../contract/errors.ts'
import type { NewAttachment } from '../store/attachments.ts'
import { storedNames } from '../store/attachments.ts'
import type { Reader } from '../store/database.ts'
import { contentTypeOf, telltaleBytes } from './contentTypes.ts'
import { cleanFilename } from './filenames.ts'

/** A file that is on disk for good, without a card yet. */
export type SavedFile = Omit<NewAttachment, 'cardId' | 'createdAt'>

const hourMs = 3_600_000

/**
 * Writes a stream to a new file with a random name, synced; it appears under that name when it is whole. A stream that
 * fails leaves nothing.
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
      /* closed already */
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
    if (start.length < telltaleBytes) start = Buffer.concat([start, chunk.subarray(0, telltaleBytes - start.length)])
    size += chunk.length
    for (let written = 0; written < chunk.length;) written += (await file.write(chunk, written)).bytesWritten
  }
  return { size, sha256: hash.digest('hex'), start }
}

/** Removes a file; one that is gone already is no failure, and one that cannot or must not be removed now is left to `sweepAttachments`. */
export const removeFile = async (folder: string, storedAs: string): Promise<void> => {
  if (!holds.has(folder))
    await unlink(join(folder, storedAs)).catch(() => {
      /* swept later */
    })
}

/** How many want the files of a folder to stay. */
const holds = new Map<string, number>()

/** Has every file stay in its folder, whatever becomes of its row, until the returned function is called. */
export function holdFiles(folder: string): () => void {
  holds.set(folder, (holds.get(folder) ?? 0) + 1)
  return () => {
    const left = holds.get(folder)! - 1
    if (left > 0) holds.set(folder, left)
    else holds.delete(folder)
  }
}

/** Deletes files that no attachment stands for and that nobody has written to for an hour. Tells how many. */
export async function sweepAttachments({
  db,
  attachmentsDir,
}: {
  db: Reader
  attachmentsDir: string
}): Promise<number> {
  let swept = 0
  let names: string[] = []
  const sweep = async () => {
    const stored = new Set(await storedNames(db, names))
    for (const name of names)
      if (!stored.has(name) && !holds.has(attachmentsDir) && (await isOld(join(attachmentsDir, name))))
        swept += await unlink(join(attachmentsDir, name)).then(
          () => 1,
          () => 0,
        )
    names = []
  }
  for await (const entry of await opendir(attachmentsDir)) {
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
