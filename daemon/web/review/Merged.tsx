import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { mergedWords } from '../../../src/boardModel/mergedWords.ts'
import { client } from '../app/session.ts'
import { RemoveWorktree } from '../card/RemoveWorktree.tsx'
import { Button } from '../ui/Button.tsx'
import type { CardPlace } from './reviewStore.ts'

/** The result of the last merge, with the steps that can follow it. Empty before a merge. */
export function Merged({ place, card, result }: { place: CardPlace; card: CardDetail; result: string }) {
  const isMerged = card.mergedAt !== null
  if (!isMerged && result === '') return null
  return (
    <section className="notice merged" aria-label="Merge">
      <p role="status">{result || `${mergedWords(card)} as ${card.mergedCommit?.slice(0, 10)}.`}</p>
      {isMerged && (
        <div className="tools">
          {card.columnType !== 'done' && card.archivedAt === null && (
            <Button icon="check" onClick={() => client.cards.complete(place)}>
              Move to done column
            </Button>
          )}
          <RemoveWorktree />
        </div>
      )}
    </section>
  )
}
