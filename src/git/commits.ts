import { git, gitOutput, inGitDir } from './git.ts'
import { keepsFiles, readRefFile } from './refFiles.ts'

/** Resolves full references or IDs to commits; undefined for missing ones. No name contains a line break. */
export async function resolveCommits(commonDir: string, names: readonly string[]): Promise<Array<string | undefined>> {
  const input = names.map(name => `${name}^{commit}\n`).join('')
  const answers = (await gitOutput(commonDir, ['cat-file', '--batch-check'], { input, env: inGitDir(commonDir) }))
    .toString()
    .split('\n')
  return names.map((_, index) => /^([0-9a-f]{40,64}) commit /.exec(answers[index] ?? '')?.[1])
}

/** Resolves a full reference or an ID to a commit, if the repository has it. */
export const commitOf = async (commonDir: string, name: string): Promise<string | undefined> =>
  (await resolveCommits(commonDir, [name]))[0]

/** Whether the commit `one` is `other` or an ancestor of it. */
export const isAncestor = async (commonDir: string, one: string, other: string): Promise<boolean> =>
  (await git(commonDir, ['merge-base', '--is-ancestor', one, other], { env: inGitDir(commonDir) })).exitCode === 0

/** The merge base of two commits, if there is one. */
export async function mergeBase(commonDir: string, one: string, other: string): Promise<string | undefined> {
  const { exitCode, stdout } = await git(commonDir, ['merge-base', one, other], { env: inGitDir(commonDir) })
  return exitCode === 0 ? stdout.toString().trim() : undefined
}

/** The commit of a local branch, by its exact name. */
export async function branchTip(commonDir: string, branch: string): Promise<string | undefined> {
  const { exitCode, stdout } = await git(commonDir, ['show-ref', '--verify', '--hash', '--', `refs/heads/${branch}`], {
    env: inGitDir(commonDir),
  })
  return exitCode === 0 ? stdout.toString().trim() : undefined
}

/** Reads the commit of a branch, in most repositories without a process. */
export const readBranchTip = async (commonDir: string, branch: string): Promise<string | undefined> =>
  ((await keepsFiles(commonDir)) ? await readRefFile(commonDir, `refs/heads/${branch}`) : undefined) ??
  branchTip(commonDir, branch)

/** The commits that another commit does not contain. */
export async function listNotIn(commonDir: string, commits: readonly string[], tip: string): Promise<string[]> {
  const present = await resolveCommits(commonDir, commits)
  const listed = await listCommits(commonDir, [], [...present.flatMap(commit => commit ?? []), `^${tip}`])
  const outside = new Set(listed.split('\n'))
  return commits.filter((commit, index) => present[index] === undefined || outside.has(commit))
}

/** Whether a commit or one of its ancestors, except merges, is not in any known commit. The repository can lack known commits. */
export async function hasOwnCommit(commonDir: string, tip: string, known: readonly string[]): Promise<boolean> {
  const options = ['--max-count=1', '--no-merges', '--ignore-missing']
  return (await listCommits(commonDir, options, [tip, ...known.map(commit => `^${commit}`)])) !== ''
}

const listCommits = async (
  commonDir: string,
  options: readonly string[],
  revisions: readonly string[],
): Promise<string> =>
  (
    await gitOutput(commonDir, ['rev-list', ...options, '--stdin'], {
      input: revisions.map(revision => `${revision}\n`).join(''),
      env: inGitDir(commonDir),
    })
  ).toString()

/** The trees of the commits that the repository has. */
export async function treesOf(commonDir: string, commits: readonly string[]): Promise<string[]> {
  const input = commits.map(commit => `${commit}^{tree}\n`).join('')
  const answers = await gitOutput(commonDir, ['cat-file', '--batch-check'], { input, env: inGitDir(commonDir) })
  return answers
    .toString()
    .split('\n')
    .flatMap(line => /^([0-9a-f]{40,64}) tree /.exec(line)?.[1] ?? [])
}
