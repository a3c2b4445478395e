import { Problem } from '../contract/errors.ts'
import type { CheckoutState } from '../git/checkoutState.ts'
import { resolveCommits } from '../git/commits.ts'
import { gitOutput, inGitDir } from '../git/git.ts'
import { hasRef, keepsFiles } from '../git/refFiles.ts'
import type { Repository } from '../git/workingTrees.ts'

const maxBranchNames = 100
const maxSlugLength = 40

/** The planned worktree of a card: its path, branch and base commit. */
export interface WorktreePlan {
  path: string
  branch: string
  baseCommit: string
}

/**
 * Plans a card's worktree at `path` from the project folder's commit, with a branch name that is unused in the project's repository and in
 * `others`.
 * @throws Problem CONFLICT before the first commit
 */
export async function planWorktree(
  { commit: baseCommit, repository }: CheckoutState,
  path: string,
  card: { id: number; title: string },
  others: readonly string[] = [],
): Promise<WorktreePlan> {
  if (baseCommit === null)
    throw new Problem(
      'CONFLICT',
      "The repository has no commits yet, so no worktree can be created. Create a first commit, or disable the card's worktree.",
    )
  return { path, branch: await freeBranch(repository, others, card), baseCommit }
}

/**
 * Plans a worktree with the branch name that the card has in another repository, if this repository does not use that name.
 * @throws Problem like `planWorktree`
 */
export async function planWorktreeOn(
  branch: string,
  checkout: CheckoutState,
  path: string,
  card: { id: number; title: string },
): Promise<WorktreePlan> {
  const taken = await resolveCommits(checkout.repository.commonDir, [`refs/heads/${branch}`, 'refs/heads/board'])
  if (checkout.commit === null || taken.some(each => each !== undefined)) return planWorktree(checkout, path, card)
  return { path, branch, baseCommit: checkout.commit }
}

/** A title as the last part of a branch name: up to 40 lower-case letters, digits and hyphens, never empty. */
export const slugOf = (title: string): string =>
  title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxSlugLength)
    .replace(/^-+|-+$/g, '') || 'card'

async function freeBranch(
  { commonDir }: Repository,
  others: readonly string[],
  { id: cardId, title }: { id: number; title: string },
): Promise<string> {
  const inFiles = await keepsFiles(commonDir)
  const named = ['for-each-ref', '--format=%(refname)', 'refs/heads/board', `refs/heads/board-${cardId}-*`]
  const maxBytes = 64 * 1024 * 1024
  const listed = [
    ...(inFiles ? [] : [gitOutput(commonDir, named, { maxBytes, env: inGitDir(commonDir) })]),
    ...others.map(path => gitOutput(path, named, { maxBytes })),
  ]
  const taken = new Set((await Promise.all(listed)).flatMap(output => output.toString().split('\n')))
  const isTaken = async (branch: string) =>
    taken.has(`refs/heads/${branch}`) || (inFiles && (await hasRef(commonDir, `refs/heads/${branch}`)))
  // If a branch named "board" exists, Git allows no branch below "board/".
  const name = `board${(await isTaken('board')) ? '-' : '/'}${cardId}-${slugOf(title)}`
  const candidates = [name, ...Array.from({ length: maxBranchNames }, (_, index) => `${name}-${index + 2}`)]
  for (const candidate of candidates) if (!(await isTaken(candidate))) return candidate
  throw new Problem('CONFLICT', 'No branch name is available for the card.')
}
