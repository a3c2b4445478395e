import { realpath, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { readPlain, replaceUntrusted } from '../../git/untrustedFiles.ts'
import type { WorkingTree } from '../../git/workingTrees.ts'

const maxPointerBytes = 8192

/**
 * Updates the `.git` file of a worktree with the worktree's Git folder, which moves with the project.
 * @returns false if the worktree has no such file
 */
export async function repairPointer({ topLevel, gitDir }: WorkingTree): Promise<boolean> {
  const text = await readPlain(join(topLevel, '.git'), maxPointerBytes).catch(() => undefined)
  if (text === undefined) return false
  const named = /^gitdir: (.+?)\n?$/.exec(text)?.[1]
  const found = named === undefined ? undefined : await realpath(resolve(topLevel, named)).catch(() => undefined)
  if (found !== gitDir)
    await replaceUntrusted(topLevel, '.git', file => writeFile(file, `gitdir: ${gitDir}\n`, { flag: 'wx' }))
  return true
}
