import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Problem } from '../contract/errors.ts'

const maxBytes = 64 * 1024
const maxStores = 16

/**
 * Lists the object stores that a store borrows from, directly or through another one, without links.
 * @throws Problem CONFLICT if an alternates file is too large or not a regular file, or if the stores are too many
 */
export async function listAlternates(objects: string): Promise<string[]> {
  const found: string[] = []
  const waiting = [objects]
  for (let store = waiting.shift(); store !== undefined; store = waiting.shift()) {
    const lines = ((await readSmallFile(store, 'info/alternates')) ?? '').split('\n')
    for (const line of lines.filter(each => each !== '' && !each.startsWith('#'))) {
      // Git resolves escapes in quotes, so the actual path would differ.
      if (line.startsWith('"')) throw new Problem('CONFLICT', 'The repository lists an object store in quotes.')
      const path = await realpath(resolve(store, line)).catch(() => undefined)
      if (path === undefined || found.includes(path)) continue
      if (found.push(path) > maxStores)
        throw new Problem('CONFLICT', `The repository borrows objects from more than ${maxStores} stores.`)
      waiting.push(path)
    }
  }
  return found
}

/**
 * Reads a file that Git reads, through links as Git does. Returns undefined if the file is missing or unreadable.
 * @throws Problem CONFLICT if the file is too large, or is a pipe or device
 */
async function readSmallFile(folder: string, name: string): Promise<string | undefined> {
  const file = await open(join(folder, name), constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
  if (!file) return undefined
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new Problem('CONFLICT', `The repository's file ${name} is not a regular file.`)
    if (stats.size > maxBytes)
      throw new Problem(
        'CONFLICT',
        `The repository's file ${name} has more than ${maxBytes / 1024} KiB. Shorten or delete the file.`,
      )
    const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
