import { mkdir, realpath, rm, rmdir, unlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { kindOf } from './kindOf.ts'
import { gitOutput, GitFailed } from './git.ts'
import { hasRef, keepsFiles } from './refFiles.ts'
import { removeFolder } from './removeFolder.ts'
import type { Repository } from './workingTrees.ts'
import type { WorkingTree } from './workingTrees.ts'

const maxNames = 1000

/**
 * Adds a worktree on a new branch, without files, as `git worktree add --no-checkout -b` does, by one process instead of three: the
 * files that make a worktree are those of gitrepository-layout(5).
 * @param path where nothing is yet
 * @param fill writes the commit's files meanwhile
 * @returns undefined, with nothing left behind but perhaps the branch, where Git itself has to add it, or to say why that cannot be
 */
export async function addWorktree(
  repository: Repository,
  { path, branch, baseCommit }: { path: string; branch: string; baseCommit: string },
  fill: (place: WorkingTree) => Promise<unknown>,
): Promise<WorkingTree | undefined> {
  if (!/^[\w-]+$/.test(basename(path)) || !(await isPlain(repository))) return undefined
  const { commonDir } = repository
  // Its files would be written in vain.
  if (await hasRef(commonDir, `refs/heads/${branch}`)) return undefined
  let admin: string | undefined
  let place: WorkingTree
  let notFilled: unknown
  try {
    await Promise.all([mkdir(path), mkdir(join(commonDir, 'worktrees'), { recursive: true })])
    const topLevel = await realpath(path)
    admin = await newFolder(join(commonDir, 'worktrees'), basename(path))
    // While it is locked nobody's `git worktree prune` takes what is half made for a leftover.
    await writeFile(join(admin, 'locked'), 'initializing')
    place = { topLevel, gitDir: admin, commonDir }
    const filled = fill(place).catch((error: unknown) => {
      notFilled = error
    })
    const made = await Promise.allSettled([
      mkdir(join(admin, 'logs')),
      writeFile(join(admin, 'HEAD'), `ref: refs/heads/${branch}\n`),
      writeFile(join(admin, 'commondir'), '../..\n'),
      writeFile(join(admin, 'gitdir'), `${join(topLevel, '.git')}\n`),
      writeFile(join(topLevel, '.git'), `gitdir: ${admin}\n`),
      makeBranch(repository, branch, baseCommit),
    ])
    await filled
    for (const each of made) if (each.status === 'rejected') throw each.reason
    await unlink(join(admin, 'locked'))
  } catch (error) {
    if (admin === undefined) await rmdir(path).catch(() => {})
    else {
      await removeFolder(path)
      await rm(admin, { recursive: true, force: true })
    }
    if (error instanceof GitFailed || (error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw error
  }
  // The worktree is there, without all of its files.
  if (notFilled !== undefined) throw notFilled
  return place
}

/** Whether a repository has none of what Git carries over to a new worktree or keeps in another way. */
async function isPlain({ commonDir, gitDir }: Repository): Promise<boolean> {
  const others = ['config.worktree', 'info/sparse-checkout'].flatMap(name => [
    join(commonDir, name),
    join(gitDir, name),
  ])
  const kinds = await Promise.all([...new Set(others)].map(kindOf))
  // Git works in no list of worktrees that is a link, and nothing is to be written where it leads.
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

/** Fails where the branch is there already, or the commit is not. */
const makeBranch = ({ topLevel }: Repository, branch: string, commit: string) =>
  gitOutput(topLevel, [
    'update-ref',
    '--no-deref',
    '-m',
    `branch: Created from ${commit}`,
    `refs/heads/${branch}`,
    commit,
    '0'.repeat(commit.length),
  ])
