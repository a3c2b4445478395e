import { diffFiles, type DiffFile } from '../../../src/contract/forges/diffFiles.ts'
import { ApiFailure } from '../../../src/client/failures.ts'
import type { LiveMessage } from '../../../src/client/socket.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { followProject } from '../app/live.ts'
import { client } from '../app/session.ts'
import { Store } from '../app/store.ts'
import { ReviewDraft } from './reviewDraft.ts'

export type Review = Output<Contract['reviews']['list']>[number]
export type ReviewComment = Review['comments'][number]
export type Verdict = Review['verdict']
export type CardRepository = Output<Contract['branches']['repositories']>[number]
export type CardPlace = { projectId: string; cardId: string }

/** A diff that was read. `since` is the review that it begins at; without one, the card's base. */
export interface ReadDiff {
  files: readonly DiffFile[]
  since: string | undefined
  /** Empty for the project's home. */
  repository: string
  insertions: number
  deletions: number
  truncated: boolean
  /** Identifies the files. Null for a card that never ran. */
  snapshot: string | null
}
interface ReviewState {
  diff?: ReadDiff
  /** Why there is no diff. */
  error?: unknown
  isReading: boolean
  reviews?: readonly Review[]
  /** The card's changes per repository, if there are several. */
  repositories?: readonly CardRepository[]
}

/** The reviewed changes, the earlier reviews and the draft. */
export class ReviewStore {
  readonly state = new Store<ReviewState>({ isReading: true })
  readonly draft: ReviewDraft
  readonly place: CardPlace
  /** The snapshot of the latest diff that was read of each repository. */
  readonly #seen = new Map<string, string>()
  #turn = 0

  constructor(place: CardPlace) {
    this.place = place
    this.draft = new ReviewDraft(place)
  }

  /** Follows the reviews of the card. @param mayWrite whether the person can have a draft. @returns a function that stops */
  start(mayWrite: boolean): () => void {
    const endDraft = mayWrite ? this.draft.start() : () => undefined
    const end = followProject(
      this.place.projectId,
      events => this.#applyEvents(events),
      () => void this.readReviews(),
    )
    return () => {
      end()
      endDraft()
    }
  }

  /** Reads in which of several repositories the card has changed something. */
  async readRepositories(): Promise<void> {
    const repositories = await client.branches.repositories(this.place).catch(() => undefined)
    if (repositories) this.state.update(now => ({ ...now, repositories }))
  }

  /** Reads the changes in a repository since a review, or since the card's base. The previous diff stays visible until then. */
  async readDiff(since: string | undefined, repository: string): Promise<void> {
    const turn = ++this.#turn
    this.state.update(now => ({ ...now, isReading: true }))
    try {
      const from = since === undefined ? undefined : Number(since)
      const read = await client.agents.diff({ ...this.place, since: from, repository })
      const { truncated, snapshot, stats } = read
      const { insertions, deletions } = stats
      const diff = { files: diffFiles(read.diff), since, repository, insertions, deletions, truncated, snapshot }
      if (snapshot !== null) this.#seen.set(repository, snapshot)
      if (turn === this.#turn) this.state.update(now => ({ ...now, diff, error: undefined, isReading: false }))
    } catch (error) {
      if (turn === this.#turn) this.state.update(now => ({ ...now, error, isReading: false }))
    }
  }

  async readReviews(): Promise<void> {
    const reviews = await client.reviews.list(this.place).catch(() => undefined)
    if (reviews) this.state.update(now => ({ ...now, reviews }))
  }

  /** Sends the draft as one review. @throws ApiFailure; errors of comments are shown next to them */
  async send(verdict: Verdict): Promise<void> {
    await this.draft.saveNow()
    try {
      // A request for changes is as valid for other files. An approval is not.
      const seen =
        verdict === 'approve' ? [...this.#seen].map(([repository, snapshot]) => ({ repository, snapshot })) : []
      this.#replaceReview(await client.reviews.create({ ...this.place, verdict, seen }))
    } catch (error) {
      if (error instanceof ApiFailure) this.draft.showErrors(error.details)
      throw error
    }
    this.draft.clearSent()
  }

  #replaceReview(review: Review): void {
    this.state.update(now => ({
      ...now,
      reviews: [...(now.reviews ?? []).filter(({ id }) => id !== review.id), review].sort(
        (a, b) => Number(a.id) - Number(b.id),
      ),
    }))
  }

  #applyEvents(events: readonly LiveMessage[]): void {
    for (const { type, data } of events) {
      if (type === 'resync') void this.readReviews()
      const { cardId } = (data ?? {}) as { cardId?: string }
      if (cardId !== this.place.cardId) continue
      if (type === 'review.submitted') this.#replaceReview(data as Review)
      if (type === 'review.answered') this.#applyAnswer(data as ReviewComment & { reviewId: string })
    }
  }

  #applyAnswer(comment: ReviewComment & { reviewId: string }): void {
    const withAnswer = (review: Review): Review =>
      review.id === comment.reviewId
        ? { ...review, comments: review.comments.map(each => (each.id === comment.id ? comment : each)) }
        : review
    this.state.update(now => ({ ...now, reviews: now.reviews?.map(withAnswer) }))
  }
}
