import { git, gitOutput } from './git.ts'

/** Resolves full references or ids to commits; undefined for missing ones. No name contains a line break. */
export async function resolveCommits(commonDir: string, names: readonly string[]): Promise<Array<string | undefined>> {
  const input = names.map(name => `${name}^{commit}\n`).join('')
  const answers = (await gitOutput(commonDir, ['cat-file', '--batch-check'], { input, env: { GIT_DIR: commonDir } }))
    .toString()
    .split('\n')
  return names.map((_, index) => /^([0-9a-f]{40,64}) commit /.exec(answers[index] ?? '')?.[1])
}

/** Resolves a full reference or an id to a commit, if the repository has it. */
export const commitOf = async (commonDir: string, name: string): Promise<string | undefined> =>
  (await resolveCommits(commonDir, [name]))[0]

/** Whether a commit is the other or one before it. */
export const isAncestor = async (commonDir: string, one: string, other: string): Promise<boolean> =>
  (await git(commonDir, ['merge-base', '--is-ancestor', one, other], { env: { GIT_DIR: commonDir } })).exitCode === 0

/** The merge base of two commits, if there is one. */
export async function mergeBase(commonDir: string, one: string, other: string): Promise<string | undefined> {
  const { exitCode, stdout } = await git(commonDir, ['merge-base', one, other], { env: { GIT_DIR: commonDir } })
  return exitCode === 0 ? stdout.toString().trim() : undefined
}

/** The commit of a local branch, by its exact name. */
export async function branchTip(commonDir: string, branch: string): Promise<string | undefined> {
  const { exitCode, stdout } = await git(commonDir, ['show-ref', '--verify', '--hash', '--', `refs/heads/${branch}`], {
    env: { GIT_DIR: commonDir },
  })
  return exitCode === 0 ? stdout.toString().trim() : undefined
}
