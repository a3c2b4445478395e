import { mkdir, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { kindOf } from './kindOf.ts'
import { GitFailed, gitOutput, inGitDir } from './git.ts'
import { hasRef, keepsFiles } from './refFiles.ts'
import { removeFolder } from './removeFolder.ts'
import { realPlace, type Repository, type WorkingTree } from './workingTrees.ts'

const maxNames = 1000

/** The folder in which a worktree is prepared. No agent sees it there. */
export const unfinishedPath = (path: string): string => `${path}.unfinished`

/** Moves a prepared worktree to its place, and unlocks its record. */
export async function finishWorktree(
  { topLevel, gitDir }: WorkingTree,
  unfinished = unfinishedPath(topLevel),
): Promise<void> {
  await rename(unfinished, topLevel)
  await unlink(join(gitDir, 'locked'))
}

/**
 * Adds a worktree on a new branch, like `git worktree add -b`, with one process instead of three. The files of a worktree are
 * those in gitrepository-layout(5).
 * @param path a path where nothing exists yet
 * @param prepare writes the files, in another folder that is then moved to the path
 * @returns undefined if Git itself must add the worktree, or report why that is impossible; only the branch can be left behind
 */
export async function addWorktree(
  repository: Repository,
  { path, branch, baseCommit }: { path: string; branch: string; baseCommit: string },
  prepare: (place: WorkingTree) => Promise<unknown>,
): Promise<WorkingTree | undefined> {
  if (!/^[\w-]+$/.test(basename(path)) || !(await isPlain(repository))) return undefined
  const { commonDir } = repository
  // Checked first, so that no files are written if the branch already exists.
  if (await hasRef(commonDir, `refs/heads/${branch}`)) return undefined
  const topLevel = await realPlace(path)
  const unfinished = unfinishedPath(topLevel)
  let admin: string | undefined
  let notPrepared: unknown
  try {
    await Promise.all([mkdir(unfinished), mkdir(join(commonDir, 'worktrees'), { recursive: true })])
    admin = await newFolder(join(commonDir, 'worktrees'), basename(path))
    // While the record is locked, `git worktree prune` does not remove it.
    await writeFile(join(admin, 'locked'), 'initializing')
    const place = { topLevel, gitDir: admin, commonDir }
    const prepared = prepare({ ...place, topLevel: unfinished }).catch((error: unknown) => {
      notPrepared = error
    })
    const made = await Promise.allSettled([
      mkdir(join(admin, 'logs')),
      writeFile(join(admin, 'HEAD'), `ref: refs/heads/${branch}\n`),
      writeFile(join(admin, 'commondir'), '../..\n'),
      writeFile(join(admin, 'gitdir'), `${join(topLevel, '.git')}\n`),
      writeFile(join(unfinished, '.git'), `gitdir: ${admin}\n`),
      makeBranch(repository, branch, baseCommit),
    ])
    await prepared
    for (const each of made) if (each.status === 'rejected') throw each.reason
    if (notPrepared !== undefined) throw notPrepared
    await finishWorktree(place)
    return place
  } catch (error) {
    await removeFolder(unfinished)
    if (admin !== undefined) await rm(admin, { recursive: true, force: true })
    if (error !== notPrepared && (error instanceof GitFailed || (error as NodeJS.ErrnoException).code === 'EEXIST'))
      return undefined
    throw error
  }
}

/** Whether a repository has no settings or files that Git carries over to a new worktree or stores differently. */
async function isPlain({ commonDir, gitDir }: Repository): Promise<boolean> {
  const others = ['config.worktree', 'info/sparse-checkout'].flatMap(name => [
    join(commonDir, name),
    join(gitDir, name),
  ])
  const kinds = await Promise.all([...new Set(others)].map(kindOf))
  // Git does not use a list of worktrees that is a link, and the board must not write to its target.
  const list = await kindOf(join(commonDir, 'worktrees'))
  return kinds.every(kind => kind === 'nothing') && (list === 'nothing' || list === 'folder') && keepsFiles(commonDir)
}

async function newFolder(parent: string, name: string): Promise<string> {
  for (let count = 0; count < maxNames; count++) {
    const folder = join(parent, count === 0 ? name : `${name}${count}`)
    try {
      await mkdir(folder)
      return folder
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  throw new GitFailed('failed', `The repository has ${maxNames} worktrees of one name.`)
}

/** Fails if the branch already exists, or the commit does not. */
const makeBranch = ({ commonDir }: Repository, branch: string, commit: string) =>
  gitOutput(
    commonDir,
    [
      'update-ref',
      '--no-deref',
      '-m',
      `branch: Created from ${commit}`,
      `refs/heads/${branch}`,
      commit,
      '0'.repeat(commit.length),
    ],
    { env: inGitDir(commonDir) },
  )
