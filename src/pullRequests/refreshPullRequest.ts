import { Problem } from '../contract/errors.ts'
import type { PullRequest } from '../contract/pullRequestRecords.ts'
import * as pulls from '../domain/pullRequests.ts'
import { ForgeFailed, type Forge, type ForgeCheck, type ForgePull, type ForgeReview } from '../forge/forge.ts'
import { projectOfCard } from '../store/cards.ts'
import type { Database } from '../store/database.ts'
import { readProject, type ProjectRow } from '../store/projects.ts'
import {
  notePullRequestRead,
  readPullRequestById,
  type PullRequestChange,
  type PullRequestRow,
} from '../store/pullRequests.ts'

export interface RefreshDependencies {
  db: Database
  clock: () => Date
  /** The forge of one of a project's repositories. @throws Problem */
  openForge(project: ProjectRow, repository: string): Promise<{ forge: Forge }>
}

/** What the forge said. Without `pull` it said that it is as before, or failed. */
export interface Refreshed {
  before: PullRequestRow
  row: PullRequestRow
  pull?: ForgePull
  checks?: readonly ForgeCheck[]
  reviews?: readonly ForgeReview[]
  /** Why it could not be asked, or did not answer. */
  failure?: ForgeFailed | Problem
}
type Answer = Pick<Refreshed, 'pull' | 'checks' | 'reviews' | 'failure'>

/**
 * Asks the forge for a pull request, its checks and reviews, and stores and tells what has changed. One that was being created is looked
 * for by its branch. `anew`: whatever the forge said before.
 * @returns undefined where it is gone with its card
 */
export async function refreshPullRequest(
  parts: RefreshDependencies,
  id: number,
  { anew = false }: { anew?: boolean } = {},
): Promise<Refreshed | undefined> {
  const { db, clock } = parts
  const before = await readPullRequestById(db, id)
  const projectId = before && (await projectOfCard(db, before.cardId))
  const project = projectId === undefined ? undefined : await readProject(db, projectId)
  if (!before || !project) return undefined
  const readAt = clock().toISOString()
  const answer = await ask(parts, project, anew ? { ...before, etag: null } : before)
  return db.transaction(async tx => {
    const present = await readPullRequestById(tx, id)
    if (!present) return undefined
    // Somebody has asked later, and knows more.
    if (present.readAt !== null && present.readAt > readAt) return { before, row: present, ...answer }
    const row = await pulls.change(tx, present, changeOf(present, answer))
    notePullRequestRead(tx, id, { readAt, etag: answer.pull ? (answer.pull.etag ?? null) : present.etag })
    return { before: present, row: { ...row, readAt }, ...answer }
  })
}

async function ask(parts: RefreshDependencies, project: ProjectRow, row: PullRequestRow): Promise<Answer> {
  const answer: Answer = {}
  try {
    const { forge } = await parts.openForge(project, row.repository)
    answer.pull = row.number === null ? await findCreated(forge, row) : await readPull(forge, row.number, row.etag)
    const { number, headCommit, state } = answer.pull ?? row
    const wasOver = row.state === 'merged' || row.state === 'closed'
    if (number === null || headCommit === null || (wasOver && state !== 'open')) return answer
    answer.checks = await forge.listChecks({ number, headCommit })
    answer.reviews = await forge.listReviews(number)
  } catch (error) {
    if (!(error instanceof ForgeFailed || error instanceof Problem)) throw error
    // What it said before that is stored: a token that may not see checks still tells of a merge.
    answer.failure = error
  }
  return answer
}

async function readPull(forge: Forge, number: number, etag: string | null): Promise<ForgePull | undefined> {
  const pull = await forge.readPull(number, etag ?? undefined)
  return pull === 'unchanged' ? undefined : pull
}

/**
 * The request that the forge was asked for before its answer got lost. One that is closed was there before, or is not wanted; so is one
 * that was merged without the commit that was pushed.
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
    // Forges tell of a merge late in some answers; none takes one back.
    ...(pull && (row.state !== 'merged' || pull.state === 'merged') && pullFields(row, pull)),
    ...(checks && { checks: JSON.stringify(checks.map(({ name, state, url }) => ({ name, state, url }))) }),
    ...(reviews && { reviews: JSON.stringify(newestReviews(reviews)) }),
  }
}

/** What is stored of a request as the forge tells it. What is over is asked for no more. */
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

/** Of each author the newest review with a verdict: a comment after it does not take it back. */
function newestReviews(reviews: readonly ForgeReview[]): PullRequest['reviews'] {
  const newest = new Map<string, ForgeReview>()
  const sorted = [...reviews].sort((a, b) => Date.parse(a.submittedAt) - Date.parse(b.submittedAt))
  for (const review of sorted)
    if (review.state !== 'commented' || (newest.get(review.author)?.state ?? 'commented') === 'commented')
      newest.set(review.author, review)
  return [...newest.values()].map(({ author, state, url }) => ({ author, state, url }))
}
