import type { DiffFile } from '../../../src/contract/forges/diffFiles.ts'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { Select } from '../ui/Select.tsx'
import { Time } from '../ui/Time.tsx'
import { Visible } from './lineParts.tsx'
import { inRepository, Lined, Thread } from './NoteView.tsx'
import type { Review } from './reviewStore.ts'

const verdicts = { comment: 'commented', request_changes: 'requested changes', approve: 'approved' }
const states = { pending: 'Needs review', changes_requested: 'Changes requested', approved: 'Approved' }

/** Describes the review state of a card. */
export const stateWords = ({ reviewState, reviewRound }: CardDetail): string =>
  reviewState === null
    ? 'Not reviewed yet'
    : `${states[reviewState]}${reviewRound > 0 ? ` (round ${reviewRound})` : ''}`

/** The review at which the diff begins; without one it begins at the card's base. */
export interface Since {
  since: string | undefined
  onSince: (since: string | undefined) => void
}

/** Selects the start of the diff: the card's base or a review. */
export function SinceChoice({ reviews, since, onSince }: Since & { reviews: readonly Review[] }) {
  if (reviews.length === 0) return null
  return (
    <div className="since">
      <span aria-hidden="true">Changes since</span>
      <Select
        label="Changes since"
        value={since ?? ''}
        options={[
          ['', 'the start of the card'],
          ...reviews
            .toReversed()
            .map(
              ({ id, round, verdict, author }) =>
                [
                  id,
                  `review ${id} (round ${round}): ${author.displayName || 'a deleted user'} ${verdicts[verdict]}`,
                ] as const,
            ),
        ]}
        onChange={value => onSince(value || undefined)}
      />
    </div>
  )
}

/** The earlier reviews, latest first: their number of answered comments, and comments on files outside of the diff. */
export function Rounds({
  reviews,
  repository,
  files,
}: {
  reviews: readonly Review[]
  repository: string
  files: readonly DiffFile[]
}) {
  if (reviews.length === 0) return null
  const shown = new Set(files.flatMap(({ path, oldPath }) => [path, oldPath]))
  return (
    <section className="rounds panel" aria-label="Earlier reviews">
      <h2>Earlier reviews</h2>
      {reviews.toReversed().map(review => {
        const { id, round, verdict, author, createdAt, body, comments } = review
        const answered = comments.filter(({ answer }) => answer !== null).length
        return (
          <article key={id} aria-label={`Review ${id}`}>
            <p>
              <strong>{author.displayName || 'Deleted account'}</strong> {verdicts[verdict]}{' '}
              <span className="dim">
                (round {round}) <Time at={createdAt} />
              </span>
              {comments.length > 0 && ` · ${answered} of ${comments.length} comments answered`}
            </p>
            {body.trim() !== '' && (
              <p className="said">
                <Lined text={body} />
              </p>
            )}
            {comments.map(comment =>
              comment.repository === repository && shown.has(comment.path) ? null : (
                <div key={comment.id}>
                  <code dir="ltr">
                    <Visible text={inRepository(comment)} />
                  </code>
                  <Thread review={review} comment={comment} isOutdated />
                </div>
              ),
            )}
          </article>
        )
      })}
    </section>
  )
}
