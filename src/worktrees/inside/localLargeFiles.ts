import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kindOf } from '../../git/kindOf.ts'
import { largeFilePlace, largeFilesOf, missingIn } from '../../git/largeFiles.ts'
import { replaceUntrusted } from '../../git/untrustedFiles.ts'
import type { Send } from '../send.ts'
import { sendLargeFile } from './sendLargeFiles.ts'

/** Sends large files of the repository in a folder. Omits files that the repository lacks. */
export async function fetchLargeFiles(folder: string, ids: readonly string[], send: Send): Promise<void> {
  const store = largeFilesOf(await gitDirOf(folder))
  for (const id of ids) await sendLargeFile([store], id, send)
}

/** Copies large files of a repository to the repository in a folder. */
export async function pushLargeFiles(commonDir: string, folder: string, ids: readonly string[]): Promise<void> {
  const gitDir = await gitDirOf(folder)
  for (const id of await missingIn(largeFilesOf(gitDir), ids)) {
    const place = largeFilePlace(id)
    const source = join(largeFilesOf(commonDir), place)
    await replaceUntrusted(gitDir, join('lfs/objects', place), file => copyFile(source, file))
  }
}

const gitDirOf = async (folder: string): Promise<string> => {
  const inner = join(folder, '.git')
  return (await kindOf(inner)) === 'folder' ? inner : folder
}
