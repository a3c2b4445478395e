import type { Log } from '../config/log.ts'
import { Problem, refuse } from '../contract/errors.ts'
import { home } from '../contract/forges/repositories.ts'
import { reviewLimits, type NewComment, type Seen, type Verdict } from '../contract/forges/reviews.ts'
import type { ProjectRole } from '../contract/route.ts'
import { appendEvent } from '../events/outbox.ts'
import type { Comparison } from '../worktrees/comparison.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { keepSnapshot } from '../git/snapshotRefs.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import {
  insertReview,
  insertReviewComment,
  insertReviewRepository,
  listReviewComments,
  listReviews,
  readReview,
  readReviewComment,
  readReviewRepository,
  readReviewsLength,
  updateReviewComment,
  type ReviewCommentRow,
  type ReviewRow,
} from '../store/forges/reviews.ts'
import { answeredComment, review as reviewView } from '../views/reviews.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { recordActivity } from '../domain/cards/activity.ts'
import { projectRole } from '../domain/accounts/access.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { changeCard } from '../domain/cards/cardChanges.ts'
import { find, type CardRef } from '../domain/cards/cards.ts'
import { compareWork } from './changes.ts'
import {
  isTouched,
  listWork,
  textOfTrees,
  treeOfWork,
  type ProjectPlaces,
  type RepositoryWork,
  type WorkTree,
} from './repositoryWork.ts'
import { findDraft, takeDraft, type OwnRef } from './reviewDrafts.ts'
import { placeComments, type PlacedComment } from './reviewedLines.ts'
import { requireMayApprove, requireMayStart } from '../domain/cards/startPermission.ts'

export interface ReviewWithComments extends ReviewRow {
  comments: ReviewCommentRow[]
}
/** A validated review: its comments refer to lines of the diff of `comparison`. */
export interface CheckedReview {
  verdict: Verdict
  body: string
  comments: PlacedComment[]
  comparison: Comparison | undefined
  /** The trees of the reviewed files in all repositories. Null if there are none. */
  trees: string | null
  /** The author's role in the project. Null if the author is not a person. */
  authorRole: ProjectRole | null
  /** The comparisons in the project's other repositories with changes of the card. */
  otherRepositories: Array<{ name: string; path: string; comparison: Comparison }>
  /** The time of the draft that the review was created from. Undefined for a review in the request. */
  draftedAt: string | undefined
  /** The session of the reviewer of a gate. Null for other authors. */
  sessionId: number | null
}

/** A card's reviews with their comments, oldest first. @throws Problem CARD_NOT_FOUND */
export async function list(db: Reader, ref: CardRef): Promise<ReviewWithComments[]> {
  const { id } = await find(db, ref)
  const [reviews, comments] = [await listReviews(db, id), await listReviewComments(db, id)]
  const byReview = new Map(reviews.map(review => [review.id, [] as ReviewCommentRow[]]))
  for (const comment of comments) byReview.get(comment.reviewId)?.push(comment)
  return reviews.map(review => ({ ...review, comments: byReview.get(review.id)! }))
}

/**
 * Validates a review against the card's current changes. If the review has no body and no comments, validates the caller's draft instead.
 * Stores a snapshot of the files in the repository, so that a later diff can start from it.
 * @throws Problem CARD_NOT_FOUND, VALIDATION_FAILED, INSUFFICIENT_PERMISSIONS, CONFLICT if Git fails, or if the files are not those that the
 * author has `seen`
 */
export async function check(
  worktrees: Worktrees,
  db: Reader,
  ref: OwnRef,
  project: ProjectPlaces,
  { verdict, body, comments, seen = [] }: { verdict: Verdict; body?: string; comments?: NewComment[]; seen?: Seen[] },
): Promise<CheckedReview> {
  const card = await find(db, ref)
  if (verdict === 'request_changes') requireMayStart(ref.caller, card.kind)
  if (verdict === 'approve') await requireMayApprove(db, ref.caller, card)
  const draft = body === undefined && comments === undefined ? await findDraft(db, ref) : undefined
  const given = { body: draft?.body ?? body ?? '', comments: draft?.comments ?? comments ?? [] }
  if (verdict !== 'approve' && given.body.trim() === '' && given.comments.length === 0)
    throw new Problem('VALIDATION_FAILED', 'A review that does not approve must have a body or comments', {
      details: [{ path: 'body', message: 'is required if comments is missing and there is no draft' }],
    })
  const works = await compareWorks(worktrees, db, card, project)
  requireSeen(works, seen)
  return {
    ...(await placeReview(works, { verdict, ...given })),
    authorRole: await roleOfPerson(db, ref.caller, project.id),
    draftedAt: draft?.updatedAt ?? undefined,
    sessionId: null,
  }
}

/**
 * Validates the review of a gate's reviewer, as `check`.
 * @throws Problem CARD_NOT_FOUND, VALIDATION_FAILED, CONFLICT if Git fails
 */
export async function checkOfReviewer(
  worktrees: Worktrees,
  db: Reader,
  ref: CardRef,
  project: ProjectPlaces,
  { sessionId, ...given }: { sessionId: number; verdict: Verdict; body: string; comments: NewComment[] },
): Promise<CheckedReview> {
  const works = await compareWorks(worktrees, db, await find(db, ref), project)
  return { ...(await placeReview(works, given)), authorRole: null, draftedAt: undefined, sessionId }
}

/** Refers the comments of a review to lines of the compared files. @throws Problem VALIDATION_FAILED */
async function placeReview(
  works: readonly ComparedWork[],
  { verdict, body, comments }: { verdict: Verdict; body: string; comments: NewComment[] },
): Promise<Omit<CheckedReview, 'authorRole' | 'draftedAt' | 'sessionId'>> {
  const comparison = works.find(({ repository }) => repository === home)?.comparison
  const otherRepositories = works.flatMap(({ repository: name, project: { path }, comparison: there }) =>
    name !== home && there && isTouched(there) ? [{ name, path, comparison: there }] : [],
  )
  const diffs = new Map(otherRepositories.map(each => [each.name, each.comparison.work]))
  if (comparison) diffs.set(home, comparison.work)
  return {
    verdict,
    body,
    comments: placeComments(comments, diffs),
    comparison,
    trees: await treesIn(works),
    otherRepositories,
  }
}

/** A card's work in a repository with its comparison. Undefined if there is no repository. */
type ComparedWork = RepositoryWork & { comparison: Comparison | undefined }

async function compareWorks(
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectPlaces,
): Promise<ComparedWork[]> {
  const works: ComparedWork[] = []
  for (const work of await listWork(db, card, project))
    works.push({ ...work, comparison: await compareIn(worktrees, work.card, work.project) })
  return works
}

/** Requires that the author has seen the current files, so that an approval never covers other files. @throws Problem CONFLICT */
function requireSeen(works: readonly ComparedWork[], seen: readonly Seen[]): void {
  for (const { repository, snapshot } of seen) {
    const present = works.find(work => work.repository === repository)?.comparison?.snapshot
    if (present !== snapshot)
      throw new Problem(
        'CONFLICT',
        'The files have changed since you opened the changes. Reload them, and review again.',
      )
  }
}

/** The trees of the compared files, as `readTrees` returns them. */
async function treesIn(works: readonly ComparedWork[]): Promise<string | null> {
  const trees: WorkTree[] = []
  for (const { repository, project, comparison } of works) {
    if (!comparison) return null
    trees.push({ repository, tree: await treeOfWork(project, comparison) })
  }
  return textOfTrees(trees)
}

/** The role of a person in a project. Null for agents and programs with a key, whose approval does not count for gates. */
const roleOfPerson = async (db: Reader, caller: Caller, projectId: number): Promise<ProjectRole | null> =>
  caller.kind === 'user' || caller.kind === 'local' ? ((await projectRole(db, caller, projectId)) ?? null) : null

/** Undefined if there is no repository. */
const compareIn = (worktrees: Worktrees, card: CardRow, project: ProjectFolder): Promise<Comparison | undefined> =>
  compareWork(worktrees, card, project, { stores: true }).catch((error: unknown) => {
    if ((error as Problem).code === 'NOT_A_GIT_REPOSITORY') return undefined
    throw error
  })

/**
 * Adds a validated review, and deletes its draft.
 * @throws Problem CARD_NOT_FOUND, CONFLICT if that draft was sent or changed in the meantime, INSUFFICIENT_PERMISSIONS for an
 * approval that moves the card forward
 */
export async function add(tx: Transaction, ref: OwnRef, checked: CheckedReview): Promise<ReviewWithComments> {
  const card = await find(tx, ref)
  const { verdict, body, comparison, trees, authorRole, sessionId } = checked
  if (verdict === 'approve' && sessionId === null) await requireMayApprove(tx, ref.caller, card)
  if (checked.draftedAt !== undefined) await takeDraft(tx, ref, checked.draftedAt)
  if ((await readReviewsLength(tx, card.id)) > reviewLimits.maxLengthOfCard)
    throw new Problem('CONFLICT', 'The card has the maximum number of review comments. Continue in a new card.')
  const { userId, displayName } = ref.caller
  const reviewId = await insertReview(tx, {
    cardId: card.id,
    round: card.reviewRound + 1,
    verdict,
    body,
    authorId: userId > 0 ? userId : null,
    authorName: displayName,
    authorRole,
    trees,
    sessionId,
    baseCommit: comparison?.baseCommit ?? null,
    headCommit: comparison?.headCommit ?? null,
    snapshot: comparison?.snapshot ?? null,
  })
  for (const comment of checked.comments) await insertReviewComment(tx, { ...comment, reviewId })
  for (const { name, path, comparison: there } of checked.otherRepositories) {
    const { baseCommit, headCommit, snapshot } = there
    await insertReviewRepository(tx, { reviewId, name, path, baseCommit, headCommit, snapshot })
  }
  const review = await findReview(tx, card.id, reviewId)
  await appendEvent(tx, 'review.submitted', ref.projectId, reviewView(review))
  recordActivity(tx, card.id, 'review.submitted', [{ field: 'verdict', from: null, to: verdict }])
  // The state of a card's review is that of people. A gate has its own.
  if (sessionId === null) await changeCard(tx, card, stateAfter(card, verdict))
  return review
}

/** A card's review state after a verdict. A review that only comments keeps the state. */
const stateAfter = ({ reviewState, reviewRound }: CardRow, verdict: Verdict) =>
  verdict === 'request_changes'
    ? ({ reviewState: 'changes_requested', reviewRound: reviewRound + 1 } as const)
    : ({ reviewState: verdict === 'approve' ? 'approved' : (reviewState ?? 'pending') } as const)

/** Keeps the snapshots of a review until its card is purged. Logs a failure: the review counts without them. */
export async function keepReviewed(
  log: Log,
  project: ProjectFolder,
  { cardId, snapshot }: Pick<ReviewRow, 'cardId' | 'snapshot'>,
  { otherRepositories }: Pick<CheckedReview, 'otherRepositories'>,
): Promise<void> {
  try {
    if (snapshot !== null) await keepSnapshot(project.path, cardId, snapshot)
    for (const { path, comparison } of otherRepositories) await keepSnapshot(path, cardId, comparison.snapshot)
  } catch (error) {
    log('warn', 'The files of a review could not be stored.', { cardId, error: String(error) })
  }
}

/**
 * The snapshot of a review in a repository, which is the base for a diff since then. Undefined if there were no changes.
 * @throws Problem REVIEW_NOT_FOUND, CARD_NOT_FOUND
 */
export async function startOf(
  db: Reader,
  ref: CardRef,
  reviewId: number,
  repository: string,
): Promise<string | undefined> {
  const { id } = await find(db, ref)
  const review = (await readReview(db, id, reviewId)) ?? refuse('REVIEW_NOT_FOUND')
  const { snapshot = null, headCommit = null } =
    repository === home ? review : ((await readReviewRepository(db, reviewId, repository)) ?? {})
  return snapshot ?? headCommit ?? undefined
}

/**
 * Sets the answer to a review comment of the card, replacing an earlier one.
 * @throws Problem CARD_NOT_FOUND, REVIEW_COMMENT_NOT_FOUND
 */
export async function answer(
  tx: Transaction,
  ref: CardRef,
  { commentId, answer: text, resolved }: { commentId: number; answer: string; resolved: boolean },
): Promise<ReviewCommentRow> {
  const { id } = await find(tx, ref)
  const comment = (await readReviewComment(tx, id, commentId)) ?? refuse('REVIEW_COMMENT_NOT_FOUND')
  updateReviewComment(tx, comment.id, {
    answer: text,
    answeredAt: tx.now,
    resolvedAt: resolved ? (comment.resolvedAt ?? tx.now) : null,
  })
  const answered = (await readReviewComment(tx, id, commentId))!
  await appendEvent(tx, 'review.answered', ref.projectId, answeredComment(answered))
  return answered
}

async function findReview(db: Reader, cardId: number, id: number): Promise<ReviewWithComments> {
  const review = (await readReview(db, cardId, id)) ?? refuse('REVIEW_NOT_FOUND')
  return { ...review, comments: await listReviewComments(db, cardId, id) }
}
