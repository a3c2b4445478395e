import { useContext, useEffect, useRef, useState, type ReactNode } from 'react'
import { mergedWords } from '../../../src/boardModel/mergedWords.ts'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { Counts } from './FileSection.tsx'
import { MergeButton } from './MergeButton.tsx'
import { DraftContext } from './NoteView.tsx'
import { ReviewDialog } from './ReviewDialog.tsx'
import type { ReadDiff, ReviewStore } from './reviewStore.ts'
import { stateWords } from './SinceChoice.tsx'

interface ChangesBarProps {
  review: ReviewStore
  card: CardDetail | undefined
  diff: ReadDiff | undefined
  viewed: number
  /** Whether the person can review and merge. */
  mayWrite: boolean
  /** Whether there are changes to review and merge. */
  hasWork: boolean
  onMerged: (result: string) => void
  /** The choices of the shown content. */
  children: ReactNode
}

/** The sticky bar above the changes: their size, the number of viewed files, and the actions. */
export function ChangesBar({ review, card, diff, viewed, mayWrite, hasWork, onMerged, children }: ChangesBarProps) {
  const [opened, setOpened] = useState<'request_changes' | 'approve'>()
  const bar = useRef<HTMLElement>(null)
  useEffect(() => publishHeight(bar.current!), [])
  return (
    <header className="changes-bar" ref={bar}>
      <div className="changes-state">
        {card && <strong>{mergedWords(card) ?? stateWords(card)}</strong>}
        {diff && <Total diff={diff} viewed={viewed} />}
        {mayWrite && <DraftState />}
      </div>
      <div className="changes-choices">{children}</div>
      {mayWrite && card && (
        <div className="changes-actions">
          <Button icon="message" disabled={!hasWork} onClick={() => setOpened('request_changes')}>
            Request changes…
          </Button>
          <Button
            icon="check"
            disabled={!hasWork || card.reviewState === 'approved'}
            onClick={() => setOpened('approve')}
          >
            Approve…
          </Button>
          {hasWork && diff && card.mergedAt === null && (
            <MergeButton review={review} card={card} diff={diff} onMerged={onMerged} />
          )}
        </div>
      )}
      {card && opened && (
        <ReviewDialog review={review} card={card} verdict={opened} onClose={() => setOpened(undefined)} />
      )}
    </header>
  )
}

/**
 * Publishes the height of the bar as `--changes-bar` on its parent: sticky elements below the bar need it. @returns a
 * function that stops
 */
function publishHeight(bar: HTMLElement): () => void {
  const observer = new ResizeObserver(() =>
    bar.parentElement?.style.setProperty('--changes-bar', `${bar.offsetHeight}px`),
  )
  observer.observe(bar)
  return () => observer.disconnect()
}

function Total({ diff: { files, insertions, deletions }, viewed }: { diff: ReadDiff; viewed: number }) {
  return (
    <span>
      {files.length} {files.length === 1 ? 'file' : 'files'} <Counts insertions={insertions} deletions={deletions} />
      {files.length > 0 && ` · ${viewed} of ${files.length} viewed`}
    </span>
  )
}

/** The number of comments in the draft, and whether it is saved. */
function DraftState() {
  const { body, comments, saveState, reason } = useStore(useContext(DraftContext)!.state)
  if (comments.length === 0 && body === '' && saveState === 'saved') return null
  const count = comments.length === 1 ? '1 draft comment' : `${comments.length} draft comments`
  const state = saveState === 'saved' ? 'saved' : saveState === 'failed' ? `not saved: ${reason}` : 'saving…'
  return (
    <span className="dim" role="status">
      {comments.length === 0 ? `Draft ${state}` : `${count}, ${state}`}
    </span>
  )
}
