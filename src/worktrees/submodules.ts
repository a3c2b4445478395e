import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { shownName } from '../contract/cards/fileNames.ts'
import { Problem } from '../contract/errors.ts'
import type { GitRun } from '../git/filters.ts'
import { git, GitFailed, gitOutput, gitReason, inGitDir } from '../git/git.ts'
import { kindOf } from '../git/kindOf.ts'
import { shadowFolder } from '../git/shadow.ts'
import { isSafeName, keptRefs, listSubmoduleCommits, modulesOf, type SubmoduleChange } from '../git/submodules.ts'
import { isMain, type Repository, type WorkingTree } from '../git/workingTrees.ts'
import { shellWord } from '../process/shellWord.ts'
import type { OperationResult } from './operations.ts'
import { receiveObjects } from './receiveObjects.ts'
import type { Worktrees } from './worktrees.ts'

type Found = OperationResult<'findSubmodules'>[number]

export interface SubmodulePlaces {
  repository: Repository
  /** The card's worktree; undefined if its folder does not exist. */
  worktree: WorkingTree | undefined
  /** The working tree that will refer to the commits. */
  target: WorkingTree
}

/**
 * Ensures that a working tree has the commits of submodules to which a merge refers, or that a remote has them. Copies commits that only
 * the card's worktree has.
 * @throws Problem CONFLICT that names the submodule, the commit and what to do; GitFailed
 */
export async function bringSubmodules(
  worktrees: Worktrees,
  run: GitRun,
  places: SubmodulePlaces,
  change: Omit<SubmoduleChange, 'known'> & { isTrial: boolean },
): Promise<void> {
  const { target, worktree } = places
  const found = await find(worktrees, run, places, change)
  const missing = found.filter(({ isInStore, isPublished }) => !isInStore && !isPublished)
  const canReceive = isMain(target) || (await kindOf(shadowFolder(target))) === 'nothing'
  const brought: Array<{ submodule: Found; store: string }> = []
  for (const submodule of missing) {
    const { names, hasStore, isInWorktree, path, commit } = submodule
    if (names.length === 0) throw unnamedSubmodule(submodule)
    const store = storeOf(target, names)
    if (hasStore && isInWorktree && canReceive) brought.push({ submodule, store })
    else if (!(await worktrees.run('hasSubmoduleCommit', { worktree: target, path, commit })))
      throw onlyInWorktree(submodule, places)
  }
  if (change.isTrial) return
  // Innermost first, because a commit must not refer to a commit of a nested submodule that could not be copied.
  for (const { submodule, store } of brought.toReversed()) await bringSubmodule(worktrees, worktree!, submodule, store)
}

/**
 * Ensures, before a branch is pushed, that remotes have the submodule commits to which the branch refers.
 * @throws Problem CONFLICT that names the submodule, the commit and what to do; GitFailed
 */
export async function requirePushedSubmodules(
  worktrees: Worktrees,
  repository: Repository,
  worktree: WorkingTree | undefined,
  { from, to }: { from: string | null; to: string },
): Promise<void> {
  const { commonDir } = repository
  const run: GitRun = (args, options) => gitOutput(commonDir, args, { ...options, env: inGitDir(commonDir) })
  const places = { repository, worktree, target: repository }
  for (const submodule of await find(worktrees, run, places, { from: from ?? undefined, to, tip: to })) {
    if (submodule.names.length === 0) throw unnamedSubmodule(submodule)
    if (!submodule.isPublished) throw unpushedSubmodule(submodule, places)
  }
}

async function find(
  worktrees: Worktrees,
  run: GitRun,
  { repository, worktree, target }: SubmodulePlaces,
  { from, to, tip }: Omit<SubmoduleChange, 'known'>,
): Promise<Found[]> {
  const { commonDir } = repository
  const listed = await gitOutput(commonDir, ['for-each-ref', '--format=%(objectname)', 'refs/remotes'], {
    env: inGitDir(commonDir),
    maxBytes: 256 * 1024 * 1024,
  })
  const known = listed.toString().split('\n').slice(0, -1)
  const commits = await listSubmoduleCommits(run, { from, to, tip, known })
  if (commits.length === 0) return []
  const found = await worktrees.run('findSubmodules', {
    worktree: worktree ?? repository,
    isGone: worktree === undefined,
    modules: modulesOf(target),
    commits,
  })
  // The process reads submodules that an agent can change, so its result is checked.
  if (!found.every(({ names, commit }) => names.every(isSafeName) && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)))
    throw new GitFailed('failed', 'The process of the worktree did not return a submodule.')
  return found
}

/** The Git folder of a submodule. The submodule can be nested in other submodules. */
const storeOf = (target: WorkingTree, names: readonly string[]): string =>
  join(modulesOf(target), names.join('/modules/'))

/** Adds a commit of a worktree's submodule to another Git folder of this submodule, with a ref that keeps it. */
async function bringSubmodule(
  worktrees: Worktrees,
  worktree: WorkingTree,
  { path, commit }: Found,
  store: string,
): Promise<void> {
  const objects = receiveObjects(store, tmpdir(), commit)
  try {
    await worktrees.run('exportSubmodule', { worktree, submodule: { path, commit, store } }, objects.write)
    await objects.accept(commit, 'commit')
    const args = ['update-ref', '-m', 'merge: board', `${keptRefs}/${commit}`, commit]
    const { exitCode, stderr } = await git(store, args, { env: inGitDir(store) })
    if (exitCode !== 0) throw new GitFailed('failed', `git update-ref ended with ${exitCode}: ${stderr}`)
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error
    const message = `The commit ${short(commit)} of the submodule ${shownName(path)} could not be copied to ${store}, and nothing was merged. ${gitReason(error)}`
    throw new Problem('CONFLICT', message, { cause: error })
  } finally {
    await objects.close()
  }
}

const short = (commit: string): string => commit.slice(0, 12)

const unnamedSubmodule = ({ path, commit }: Found): Problem =>
  submoduleProblem(
    path,
    `The card refers to the commit ${short(commit)} of a repository in the folder ${shownName(path)}, which .gitmodules does not list as a submodule. Add it as a submodule, or remove it with git rm --cached.`,
  )

function onlyInWorktree(submodule: Found, { worktree, target }: SubmodulePlaces): Problem {
  const { path, commit, isInWorktree } = submodule
  if (!isInWorktree || !worktree) return missingSubmodule(submodule)
  const folders = [target, worktree].map(({ topLevel }) => shellWord(join(topLevel, shownName(path))))
  const steps = `Push it to the remote of the submodule: ${pushCommand(folders[1]!, commit)}. Or check out the submodule of the target (git -C ${shellWord(target.topLevel)} submodule update --init --recursive) and copy the commit: git -C ${folders[0]} fetch ${folders[1]} ${commit}.`
  return submoduleProblem(path, `${about(submodule)}, which only the card's worktree has. ${steps} Then try again.`)
}

function unpushedSubmodule(submodule: Found, { worktree, target }: SubmodulePlaces): Problem {
  const { path, commit, isInStore, isInWorktree } = submodule
  const place = isInStore ? target : isInWorktree ? worktree : undefined
  if (!place) return missingSubmodule(submodule)
  const command = pushCommand(shellWord(join(place.topLevel, shownName(path))), commit)
  return submoduleProblem(
    path,
    `${about(submodule)}, which no remote of the submodule has. Push it there first: ${command}. Then try again.`,
  )
}

const missingSubmodule = (submodule: Found): Problem =>
  submoduleProblem(
    submodule.path,
    `${about(submodule)}, which neither the card's worktree nor the project's folder has. Fetch it in the submodule of the project's folder, or refer to a commit that the remote of the submodule has.`,
  )

const about = ({ path, commit }: Found): string => `The submodule ${shownName(path)} is at the commit ${short(commit)}`

const pushCommand = (folder: string, commit: string): string => `git -C ${folder} push origin ${commit}:refs/heads/NAME`

const submoduleProblem = (path: string, message: string): Problem =>
  new Problem('CONFLICT', `${message} Nothing was merged or pushed.`, {
    details: [{ path: shownName(path), message: 'is a submodule with a commit that is not on its remote' }],
  })
