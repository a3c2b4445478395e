import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { Select } from '../ui/Select.tsx'
import type { Review } from './reviewStore.ts'

/** The verdict of a review, after the name of its author. */
export const verdictWords = { comment: 'commented', request_changes: 'requested changes', approve: 'approved' }

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
                  `review ${id} (round ${round}): ${author.displayName || 'a deleted user'} ${verdictWords[verdict]}`,
                ] as const,
            ),
        ]}
        onChange={value => onSince(value || undefined)}
      />
    </div>
  )
}
