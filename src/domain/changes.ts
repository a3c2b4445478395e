import { Problem } from '../contract/errors.ts'
import { commitOf, standingOf } from '../git/cardWorktrees.ts'
import { kindOf } from '../git/changes.ts'
import { diffOfCommits, diffOfWorktree, noDiff, type DiffOptions, type WorkDiff } from '../git/diff.ts'
import { mergeWork, type Merged } from '../git/merge.ts'
import type { Repository } from '../git/repository.ts'
import { worktreeOf } from '../git/worktrees.ts'
import type { CardRow } from '../store/cards.ts'
import type { ProjectRow } from '../store/projects.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { partingOf } from './worktrees.ts'

type Project = Pick<ProjectRow, 'path'>

/**
 * What a card has changed since its base commit, untracked files too (specification "Diff"): in its worktree, or on its
 * branch when the worktree is gone, or in the project's folder when it works there. Nothing for a card that never ran.
 * @throws Problem NOT_A_GIT_REPOSITORY, CONFLICT when Git fails or takes too long
 */
export async function diffOf(card: CardRow, project: Project, options: DiffOptions = {}): Promise<WorkDiff> {
  const standing = (await standingOf(project.path)) ?? refuse('NOT_A_GIT_REPOSITORY')
  const place = await placeOf(card, standing.repository)
  if (place) return diffOfWorktree(place, card.baseCommit ?? (await partingOf(place.topLevel, standing)), options)
  const tip = card.gitBranch === null ? undefined : await commitOf(project.path, `refs/heads/${card.gitBranch}`)
  if (tip !== undefined) return diffOfCommits(standing.repository, card.baseCommit, tip, options)
  return card.useWorktree === 0 && card.baseCommit !== null
    ? diffOfWorktree(standing.repository, card.baseCommit, options)
    : noDiff
}

/**
 * Merges a card's work into a branch, by default the one that the project's folder is on. What is not committed in its
 * worktree yet is committed there first.
 * @throws Problem NOT_A_GIT_REPOSITORY, MERGE_CONFLICT, WORKTREE_DIRTY, AGENT_ALREADY_RUNNING, VALIDATION_FAILED, CONFLICT
 */
export async function merge(
  card: CardRow,
  project: Project,
  { into, squash }: { into?: string; squash: boolean },
): Promise<Merged> {
  const { repository } = (await standingOf(project.path)) ?? refuse('NOT_A_GIT_REPOSITORY')
  if (hasActiveAgent(card))
    throw new Problem('AGENT_ALREADY_RUNNING', 'An agent is at work on the card. Wait for its end, or cancel it.')
  if (card.gitBranch === null && card.worktreePath === null)
    refuse('CONFLICT', 'The card has no branch that could be merged.')
  const place = await placeOf(card, repository)
  if (place === undefined && card.worktreePath !== null && (await kindOf(card.worktreePath)) !== 'nothing')
    refuse('CONFLICT', "The card's worktree is not one of the project's repository any more.")
  return mergeWork({
    projectPath: project.path,
    worktreePath: place?.topLevel ?? null,
    branch: card.gitBranch,
    into,
    squash,
    title: card.title.replace(/\s+/g, ' '),
  })
}

/** The card's worktree, if it is there and is one. */
async function placeOf({ worktreePath }: CardRow, repository: Repository): Promise<Repository | undefined> {
  return worktreePath !== null && (await kindOf(worktreePath)) === 'folder'
    ? worktreeOf(repository, worktreePath)
    : undefined
}

function refuse(code: 'NOT_A_GIT_REPOSITORY' | 'CONFLICT', message?: string): never {
  throw new Problem(code, message)
}
