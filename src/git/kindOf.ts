import { lstat } from 'node:fs/promises'
import { filePath } from './fileNames.ts'

export type Kind = 'nothing' | 'file' | 'link' | 'folder' | 'other'

/** The kind of a path; links are not followed. */
export async function kindOf(path: string): Promise<Kind> {
  const stats = await lstat(filePath(path)).catch(() => undefined)
  if (!stats) return 'nothing'
  if (stats.isDirectory()) return 'folder'
  return stats.isFile() ? 'file' : stats.isSymbolicLink() ? 'link' : 'other'
}
