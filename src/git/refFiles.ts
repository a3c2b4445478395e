import { join } from 'node:path'
import { kindOf } from './changes.ts'
import { readPlain } from './untrustedFiles.ts'

const maxPackedBytes = 256 * 1024 * 1024

/** Whether a repository that keeps its refs in files has one, without a process. A link or a pipe in its place is in the way of one. */
export const hasRef = async (commonDir: string, name: string): Promise<boolean> =>
  // Git packs a ref before it removes its file, so they are looked at in this order.
  !['nothing', 'folder'].includes(await kindOf(join(commonDir, name))) ||
  (await readPacked(commonDir)).includes(` ${name}\n`)

/** Whether a repository keeps its refs in files, one each, and what is packed in one more, which is no link to another's. */
export const keepsFiles = async (commonDir: string): Promise<boolean> =>
  (await kindOf(join(commonDir, 'reftable'))) === 'nothing' &&
  ['nothing', 'file'].includes(await kindOf(join(commonDir, 'packed-refs')))

const readPacked = (commonDir: string): Promise<string> =>
  readPlain(join(commonDir, 'packed-refs'), maxPackedBytes).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
