import type { Clock } from '../async/clock.ts'
import { Problem } from '../contract/errors.ts'
import type { PullRequest } from '../contract/forges/pullRequestRecords.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { ForgeFailed, type Forge, type ForgeCheck, type ForgePull, type ForgeReview } from '../forge/forge.ts'
import { projectOfCard } from '../store/cards/cards.ts'
import type { Database } from '../store/engine/database.ts'
import { readProject, type ProjectRow } from '../store/projects/projects.ts'
import {
  notePullRequestRead,
  readPullRequestById,
  type PullRequestChange,
  type PullRequestRow,
} from '../store/forges/pullRequests.ts'

export interface RefreshDependencies {
  db: Database
  clock: Clock
  /** The forge of one of a project's repositories. @throws Problem */
  openForge(project: ProjectRow, repository: string): Promise<{ forge: Forge }>
}

/** The forge's response. Without `pull`, it reported no change, or failed. */
export interface Refreshed {
  before: PullRequestRow
  row: PullRequestRow
  pull?: ForgePull
  checks?: readonly ForgeCheck[]
  reviews?: readonly ForgeReview[]
  /** Why the forge could not be queried, or did not respond. */
  failure?: ForgeFailed | Problem
}
type Answer = Pick<Refreshed, 'pull' | 'checks' | 'reviews' | 'failure'>

/**
 * Reads a pull request, its checks and reviews from the forge, and stores and announces the changes. If the creation of the pull request
 * was interrupted, finds it by its branch. `anew` requests a full response, even if nothing has changed.
 * @returns undefined if it was deleted with its card
 */
export async function refreshPullRequest(
  dependencies: RefreshDependencies,
  id: number,
  { anew = false }: { anew?: boolean } = {},
): Promise<Refreshed | undefined> {
  const { db, clock } = dependencies
  const before = await readPullRequestById(db, id)
  const projectId = before && (await projectOfCard(db, before.cardId))
  const project = projectId === undefined ? undefined : await readProject(db, projectId)
  if (!before || !project) return undefined
  const readAt = clock().toISOString()
  const answer = await askForge(dependencies, project, anew ? { ...before, etag: null } : before)
  return db.transaction(async tx => {
    const present = await readPullRequestById(tx, id)
    if (!present) return undefined
    // A later read has already stored its result.
    if (present.readAt !== null && present.readAt > readAt) return { before, row: present, ...answer }
    const row = await pulls.change(tx, present, changeOf(present, answer))
    notePullRequestRead(tx, id, { readAt, etag: answer.pull ? (answer.pull.etag ?? null) : present.etag })
    return { before: present, row: { ...row, readAt }, ...answer }
  })
}

async function askForge(dependencies: RefreshDependencies, project: ProjectRow, row: PullRequestRow): Promise<Answer> {
  const answer: Answer = {}
  try {
    const { forge } = await dependencies.openForge(project, row.repository)
    answer.pull = row.number === null ? await findCreated(forge, row) : await readPull(forge, row.number, row.etag)
    const { number, headCommit, state } = answer.pull ?? row
    const wasOver = row.state === 'merged' || row.state === 'closed'
    if (number === null || headCommit === null || (wasOver && state !== 'open')) return answer
    answer.checks = await forge.listChecks({ number, headCommit })
    answer.reviews = await forge.listReviews(number)
  } catch (error) {
    if (!(error instanceof ForgeFailed || error instanceof Problem)) throw error
    // Earlier responses are stored: a token without access to checks still detects a merge.
    answer.failure = error
  }
  return answer
}

async function readPull(forge: Forge, number: number, etag: string | null): Promise<ForgePull | undefined> {
  const pull = await forge.readPull(number, etag ?? undefined)
  return pull === 'unchanged' ? undefined : pull
}

/**
 * Finds the pull request that the forge created if its response was lost. Ignores closed pull requests, and merged ones
 * without the pushed commit, because they existed before.
 */
export async function findCreated(
  forge: Pick<Forge, 'findPull'>,
  { branch, headCommit }: Pick<PullRequestRow, 'branch' | 'headCommit'>,
): Promise<ForgePull | undefined> {
  const pull = await forge.findPull(branch)
  if (pull === undefined || pull.state === 'closed') return undefined
  return pull.state === 'open' || pull.headCommit === headCommit ? pull : undefined
}

function changeOf(row: PullRequestRow, { pull, checks, reviews, failure }: Answer): PullRequestChange {
  return {
    problem: failure?.message ?? null,
    // Forges report a merge late in some responses, but never revert it.
    ...(pull && (row.state !== 'merged' || pull.state === 'merged') && pullFields(row, pull)),
    ...(checks?.length && { hadChecks: true }),
    ...(checks && { checks: JSON.stringify(checks.map(({ name, state, url }) => ({ name, state, url }))) }),
    ...(reviews && { reviews: JSON.stringify(newestReviews(reviews)) }),
  }
}

/** The stored fields of a pull request in the forge's response. An ended pull request is no longer read. */
export function pullFields(row: Pick<PullRequestRow, 'mergeCommit'>, pull: ForgePull): PullRequestChange {
  const { number, url, title, state, draft, base, headCommit, mergeable, mergeCommit } = pull
  return {
    number,
    url,
    title,
    state,
    draft,
    base,
    headCommit,
    mergeable,
    mergeCommit: mergeCommit ?? row.mergeCommit,
    ...(state === 'merged' && { nextReadAt: null }),
  }
}

/** The newest review with a verdict of each author. A later comment does not revoke a verdict. */
function newestReviews(reviews: readonly ForgeReview[]): PullRequest['reviews'] {
  const newest = new Map<string, ForgeReview>()
  const sorted = [...reviews].sort((a, b) => Date.parse(a.submittedAt) - Date.parse(b.submittedAt))
  for (const review of sorted)
    if (review.state !== 'commented' || (newest.get(review.author)?.state ?? 'commented') === 'commented')
      newest.set(review.author, review)
  return [...newest.values()].map(({ author, state, url }) => ({ author, state, url }))
}
