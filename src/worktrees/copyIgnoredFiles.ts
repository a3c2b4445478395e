import { realpath, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { kindOf } from '../git/kindOf.ts'
import { realPlace, type Repository, type WorkingTree } from '../git/workingTrees.ts'
import { copiedPathsFile } from './copiedPaths.ts'
import { includeFile, readIncludeFile, type CopyRules } from './includeFile.ts'
import type { Worktrees } from './worktrees.ts'

/** The ignored files that are copied to new worktrees, in addition to the files that the repository specifies. */
export type Copied = Pick<CopyRules, 'patterns' | 'hidden'>

/**
 * Copies the ignored files of a project's folder that `.worktreeinclude` of the base commit and `copied` name to a new worktree, and
 * records their paths.
 * @throws Problem CONFLICT if the file cannot be used, or the files are too many or too large
 */
export async function copyIgnoredFiles(
  worktrees: Worktrees,
  projectPath: string,
  { topLevel: top, commonDir, isBare }: Repository,
  place: WorkingTree,
  baseCommit: string,
  { patterns, hidden }: Copied,
): Promise<void> {
  // The folder of a bare repository has no files.
  if (isBare) return
  const include = await readIncludeFile(commonDir, baseCommit)
  const isEmpty = include === null && patterns.length === 0
  if (isEmpty && (await kindOf(join(top, includeFile))) === 'nothing') return
  const [source, ...real] = await Promise.all([realpath(projectPath), ...hidden.map(realPlace)])
  const subfolder = relative(top, source)
  const paths = await worktrees.run('copyIgnored', {
    worktree: { ...place, from: top },
    places: { source, top, target: join(place.topLevel, subfolder) },
    rules: { include, patterns, hidden: [...real, commonDir] },
  })
  if (paths.length === 0) return
  // JSON keeps the bytes of names that are not UTF-8.
  const record = JSON.stringify(paths.map(path => join(subfolder, path)))
  await writeFile(join(place.gitDir, copiedPathsFile), record, { mode: 0o600 })
}
