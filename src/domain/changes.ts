import { realpath } from 'node:fs/promises'
import { Problem } from '../contract/errors.ts'
import { commitOf, standingOf } from '../git/cardWorktrees.ts'
import { kindOf } from '../git/changes.ts'
import { diffOfCommits, diffOfWorktree, noDiff, type WorkDiff } from '../git/diff.ts'
import { mergeWork, type Merged } from '../git/merge.ts'
import { belongsTo } from '../git/worktrees.ts'
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
export async function diffOf(card: CardRow, project: Project): Promise<WorkDiff> {
  const standing = await standingOf(project.path) ?? refuse('NOT_A_GIT_REPOSITORY')
  const place = await placeOf(card, project)
  if (place !== undefined) return diffOfWorktree(place, card.baseCommit ?? await partingOf(place, standing))
  const tip = card.gitBranch === null ? undefined : await commitOf(project.path, `refs/heads/${card.gitBranch}`)
  if (tip !== undefined) return diffOfCommits(standing.topLevel, card.baseCommit, tip)
  return card.useWorktree === 0 && card.baseCommit !== null ? diffOfWorktree(standing.topLevel, card.baseCommit) : noDiff
}

/**
 * Merges a card's work into a branch, by default the one that the project's folder is on. What is not committed in its
 * worktree yet is committed there first.
 * @throws Problem NOT_A_GIT_REPOSITORY, MERGE_CONFLICT, WORKTREE_DIRTY, AGENT_ALREADY_RUNNING, VALIDATION_FAILED, CONFLICT
 */
export async function merge(card: CardRow, project: Project, { into, squash }: { into?: string; squash: boolean }): Promise<Merged> {
  if (!await standingOf(project.path)) refuse('NOT_A_GIT_REPOSITORY')
  if (hasActiveAgent(card)) throw new Problem('AGENT_ALREADY_RUNNING', 'An agent is at work on the card. Wait for its end, or cancel it.')
  if (card.gitBranch === null && card.worktreePath === null) refuse('CONFLICT', 'The card has no branch that could be merged.')
  const place = await placeOf(card, project)
  if (place === undefined && card.worktreePath !== null && await kindOf(card.worktreePath) !== 'nothing') refuse('CONFLICT', 'The card\'s worktree is not one of the project\'s repository any more.')
  return mergeWork({ projectPath: project.path, worktreePath: place ?? null, branch: card.gitBranch, into, squash, title: card.title.replace(/\s+/g, ' ') })
}

/** The card's worktree, if it is there and is one. */
async function placeOf({ worktreePath }: CardRow, project: Project): Promise<string | undefined> {
  return worktreePath !== null && await kindOf(worktreePath) === 'folder' && await belongsTo(worktreePath, project.path) ? realpath(worktreePath) : undefined
}

function refuse(code: 'NOT_A_GIT_REPOSITORY' | 'CONFLICT', message?: string): never { throw new Problem(code, message) }
