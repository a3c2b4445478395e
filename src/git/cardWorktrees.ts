import { lstat, mkdir, readdir, realpath, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { kindOf } from './changes.ts'
import { inCheckout } from './checkout.ts'
import { copyIgnored } from './copiedFiles.ts'
import { git, GitFailed, gitOutput } from './git.ts'
import { withRepositoryLock } from './repositoryLock.ts'
import { removeFolder } from './removeFolder.ts'
import { currentBranch, findRepository, type Repository } from './repository.ts'
import { listWorktrees, worktreeOf } from './worktrees.ts'

const checkoutTimeoutMs = 10 * 60_000
const maxBranchNames = 100
const maxSlugLength = 40

/** A worktree that the board makes for a card: where, on which branch, and from which commit. */
export interface WorktreePlan {
  path: string
  branch: string
  baseCommit: string
}

/** Where a project's folder stands: its branch (null when on none), its commit (null before the first) and its place below the working tree's top. */
export interface Standing {
  branch: string | null
  commit: string | null
  subfolder: string
  repository: Repository
}

/** Where a project's folder stands, or undefined when it is in no Git repository. */
export async function standingOf(projectPath: string): Promise<Standing | undefined> {
  const repository = await findIn(projectPath)
  if (!repository) return undefined
  const [branch, real] = await Promise.all([repository.branch ?? currentBranch(projectPath), realpath(projectPath)])
  return { branch, commit: repository.head ?? null, subfolder: relative(repository.topLevel, real), repository }
}

/** Plans a card's worktree at `path` from the commit that the project's folder is on, with a branch name that is free. @throws Problem CONFLICT before the first commit */
export async function planWorktree(
  projectPath: string,
  { commit: baseCommit }: Standing,
  path: string,
  cardId: number,
  title: string,
): Promise<WorktreePlan> {
  if (baseCommit === null)
    throw new Problem(
      'CONFLICT',
      "The repository has no commit yet, so no worktree can be made. Make a first commit, or switch the card's worktree off.",
    )
  return { path, branch: await freeBranch(projectPath, cardId, title), baseCommit }
}

/** A title as the end of a branch name: at most 40 lower-case letters, digits and hyphens, never empty. */
export const slugOf = (title: string): string =>
  title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxSlugLength)
    .replace(/^-+|-+$/g, '') || 'card'

async function freeBranch(projectPath: string, cardId: number, title: string): Promise<string> {
  const taken = new Set(
    (
      await gitOutput(
        projectPath,
        ['for-each-ref', '--format=%(refname)', 'refs/heads/board', `refs/heads/board-${cardId}-*`],
        { maxBytes: 64 * 1024 * 1024 },
      )
    )
      .toString()
      .split('\n'),
  )
  // A branch named "board" leaves no room for others below it.
  const name = `board${taken.has('refs/heads/board') ? '-' : '/'}${cardId}-${slugOf(title)}`
  const candidates = [name, ...Array.from({ length: maxBranchNames }, (_, index) => `${name}-${index + 2}`)]
  return (
    candidates.find(candidate => !taken.has(`refs/heads/${candidate}`)) ?? fail('No branch name is free for the card.')
  )
}

/**
 * Sees to it that a card's worktree stands as planned, and does nothing when it does. A folder that somebody deleted is made
 * again from its branch; what stands in its place and is no worktree is moved aside. New worktrees get copies of the
 * project's ignored files that match `copied`. Runs no hook and no filter of the repository's configuration; the filters of the
 * account's own configuration do run, as in a checkout of the person's. Returns the plan with the base commit that holds.
 * @throws Problem CONFLICT, DISK_FULL
 */
export async function makeWorktree(
  projectPath: string,
  { repository }: Standing,
  plan: WorktreePlan,
  copied: readonly string[],
): Promise<WorktreePlan> {
  return withRepositoryLock(repository.commonDir, () =>
    makeOnce(projectPath, repository, plan, copied).catch(error => {
      throw toProblem(error)
    }),
  )
}

async function makeOnce(
  projectPath: string,
  repository: Repository,
  plan: WorktreePlan,
  copied: readonly string[],
): Promise<WorktreePlan> {
  const unfinished = `${plan.path}.unfinished`
  if ((await kindOf(unfinished)) === 'nothing') {
    if (await stands(projectPath, repository, plan.path)) return plan
    await moveAside(plan.path)
  } else await removeFolder(plan.path)
  await forget(projectPath, plan.path)
  await mkdir(dirname(plan.path), { recursive: true, mode: 0o700 })
  // No agent has worked in a folder that has this beside it: it may go.
  await writeFile(unfinished, '', { mode: 0o600 })
  const made = await checkOut(projectPath, plan)
  await copyIgnored(projectPath, join(plan.path, relative(repository.topLevel, await realpath(projectPath))), copied)
  await rm(unfinished)
  return made
}

/** Whether the worktree is there. One whose project moved is tied to it again. */
async function stands(projectPath: string, repository: Repository, path: string): Promise<boolean> {
  if ((await kindOf(path)) !== 'folder') return false
  if (await worktreeOf(repository, path)) return true
  if ((await kindOf(join(path, '.git'))) !== 'file') return false
  await git(projectPath, ['worktree', 'repair', path])
  return (await worktreeOf(repository, path)) !== undefined
}

async function moveAside(path: string): Promise<void> {
  const kind = await kindOf(path)
  if (kind === 'nothing') return
  if (kind === 'folder' && (await readdir(path)).length === 0) await rmdir(path)
  else await rename(path, `${path}.aside-${Date.now()}`)
}

async function checkOut(projectPath: string, plan: WorktreePlan): Promise<WorktreePlan> {
  const [tip, base, head] = await resolveCommits(projectPath, [`refs/heads/${plan.branch}`, plan.baseCommit, 'HEAD'])
  const [hasBranch, baseCommit] = [tip !== undefined, base ?? head ?? fail('The repository has no commit any more.')]
  const args = hasBranch ? [plan.path, plan.branch] : ['--no-track', '-b', plan.branch, plan.path, baseCommit]
  const { exitCode, stderr } = await git(projectPath, ['worktree', 'add', '--quiet', '--no-checkout', ...args], {
    timeoutMs: checkoutTimeoutMs,
  })
  if (exitCode === 0) {
    const place = (await findRepository(plan.path)) ?? fail('The worktree that was made is not one.')
    await inCheckout(place, run =>
      run(['read-tree', '--reset', '-u', tip ?? baseCommit], { timeoutMs: checkoutTimeoutMs }),
    )
    return { ...plan, baseCommit }
  }
  if (/already (checked out|used by worktree)/.test(stderr))
    fail("The card's branch is checked out in another worktree. Attach that one, or switch it to another branch.")
  throw new GitFailed('failed', `git worktree add ended with ${exitCode}: ${stderr.trim()}`)
}

/**
 * Removes a card's worktree, ignored files too; what is gone already is no failure. The caller has made sure that nothing is
 * lost. Its branch is deleted only when another branch or tag holds all its commits;
 * tells whether it is still there.
 * @throws Problem CONFLICT
 */
export async function dropWorktree(projectPath: string, path: string, branch: string | null): Promise<boolean> {
  const repository = await findIn(projectPath)
  if (!repository) return removeFolder(path).then(() => false)
  return withRepositoryLock(repository.commonDir, async () => {
    await removeFolder(path)
    await rm(`${path}.unfinished`, { force: true })
    await forget(projectPath, path)
    return branch !== null && !(await dropBranch(projectPath, `refs/heads/${branch}`))
  }).catch(error => {
    throw toProblem(error)
  })
}

/** Deletes a branch that holds nothing alone, and tells whether it is gone. */
async function dropBranch(projectPath: string, ref: string): Promise<boolean> {
  const tip = await commitOf(projectPath, ref)
  if (tip === undefined) return true
  const holders = (
    await gitOutput(projectPath, [
      'for-each-ref',
      '--contains',
      tip,
      '--format=%(refname)',
      'refs/heads',
      'refs/remotes',
      'refs/tags',
    ])
  )
    .toString()
    .split('\n')
    .slice(0, -1)
  if (!holders.some(holder => holder !== ref)) return false
  return (await git(projectPath, ['update-ref', '-d', ref, tip])).exitCode === 0
}

/** Takes a folder that is gone off the repository's list of worktrees. */
async function forget(projectPath: string, path: string): Promise<void> {
  const real = join(await realpath(dirname(path)).catch(() => dirname(path)), path.slice(dirname(path).length))
  const listed = (await listWorktrees(projectPath)).find(worktree => worktree.path === real || worktree.path === path)
  if (listed && (await lstat(path).catch(() => undefined)) === undefined)
    await git(projectPath, ['worktree', 'remove', '--force', '--force', listed.path])
}

/** The commits that full references or ids name, as far as the repository has them. None of the names has a line break in it. */
async function resolveCommits(path: string, names: readonly string[]): Promise<Array<string | undefined>> {
  const answers = (
    await gitOutput(path, ['cat-file', '--batch-check'], { input: names.map(name => `${name}^{commit}\n`).join('') })
  )
    .toString()
    .split('\n')
  return names.map((_, index) => /^([0-9a-f]{40,64}) commit /.exec(answers[index] ?? '')?.[1])
}

/** The commit that a full reference or an id names, if the repository has it. */
export const commitOf = async (path: string, name: string): Promise<string | undefined> =>
  (await resolveCommits(path, [name]))[0]

/** The commit in which the work on two commits parted, if they have one in common. */
export async function mergeBase(path: string, one: string, other: string): Promise<string | undefined> {
  const { exitCode, stdout } = await git(path, ['merge-base', one, other])
  return exitCode === 0 ? stdout.toString().trim() : undefined
}

/** The repository of a folder, which itself may be missing. */
const findIn = async (path: string): Promise<Repository | undefined> =>
  (await kindOf(await realpath(path).catch(() => path))) === 'folder' ? findRepository(path) : undefined

function toProblem(error: unknown): unknown {
  if (error instanceof Problem) return error
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || /No space left/.test(message)) return new Problem('DISK_FULL', undefined, { cause: error })
  if (error instanceof GitFailed && error.reason === 'timeout')
    return new Problem('CONFLICT', 'Git took too long to make the worktree.', { cause: error })
  return new Problem('CONFLICT', 'The worktree could not be made or removed.', { cause: error })
}

function fail(message: string): never {
  throw new Problem('CONFLICT', message)
}
