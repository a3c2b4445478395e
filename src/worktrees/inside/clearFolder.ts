import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { removeFolder } from '../../git/removeFolder.ts'

/** Removes the content of a folder. The folder itself is a mount. */
export async function clearFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await removeFolder(join(folder, name))
}
