import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { GitRun } from '../../git/filters.ts'
import { kindOf } from '../../git/kindOf.ts'
import { largeFilePlace, listLargeFiles, missingIn } from '../../git/largeFiles.ts'
import { inFolder } from '../../git/untrustedFiles.ts'
import type { Send } from '../send.ts'

const partBytes = 1024 * 1024

/**
 * Sends the large files of commits or trees that a repository lacks. Omits large files that none of the `stores` has.
 * @param revisions as for `git rev-list`
 * @param known the store of the repository
 */
export async function sendLargeFiles(
  run: GitRun,
  revisions: readonly string[],
  { stores, known }: { stores: readonly string[]; known: string },
  send: Send,
): Promise<void> {
  if ((await Promise.all(stores.map(kindOf))).every(kind => kind === 'nothing')) return
  for (const id of await missingIn(known, await listLargeFiles(run, revisions))) await sendLargeFile(stores, id, send)
}

/** Sends a large file from the first store that has it. Sends nothing if no store has it. */
export async function sendLargeFile(stores: readonly string[], id: string, send: Send): Promise<void> {
  const place = largeFilePlace(id)
  for (const store of stores) {
    const open = (folder: string) => openPlain(join(folder, basename(place)))
    const file = await inFolder(store, dirname(place), open).catch(() => undefined)
    if (file) return sendFile(file, id, send)
  }
}

async function openPlain(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new Error('Not a regular file.')
}

/** Each part begins with the name of the file. */
async function sendFile(file: FileHandle, id: string, send: Send): Promise<void> {
  try {
    const name = Buffer.from(id, 'hex')
    for await (const bytes of file.createReadStream({ autoClose: false, highWaterMark: partBytes }))
      await send(Buffer.concat([name, bytes as Buffer]), 'largeFile')
  } finally {
    await file.close()
  }
}
