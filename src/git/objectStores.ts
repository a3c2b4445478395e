import { readFile, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'

const maxStores = 16

/** The stores from which a repository borrows objects. */
export async function furtherStores(objects: string): Promise<string[]> {
  const found: string[] = []
  for (const waiting = [objects]; waiting.length > 0 && found.length < maxStores;) {
    const store = waiting.shift()!
    const lines = await readFile(join(store, 'info/alternates'), 'utf8').catch(() => '')
    for (const line of lines.split('\n').filter(each => each !== '' && !each.startsWith('#'))) {
      const path = await realpath(resolve(store, line)).catch(() => undefined)
      if (path === undefined || found.includes(path)) continue
      found.push(path)
      waiting.push(path)
    }
  }
  return found
}
