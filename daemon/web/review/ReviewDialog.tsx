import { useContext } from 'react'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { showMessage } from '../app/messages.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { Field } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Visible } from './lineParts.tsx'
import { DraftContext, inRepository, placeOf } from './NoteView.tsx'
import type { ReviewStore, Verdict } from './reviewStore.ts'

const titles = { request_changes: 'Request changes', approve: 'Approve the card' }
const submits = { request_changes: 'Request changes and start the agent', approve: 'Approve' }
const sent: Record<Verdict, string> = {
  request_changes: 'Sent the review. The agent is working on it.',
  comment: 'Sent the review. No agent was started.',
  approve: 'Approved the card.',
}

interface ReviewDialogProps {
  review: ReviewStore
  card: CardDetail
  verdict: 'request_changes' | 'approve'
  onClose: () => void
}

/** Sends the draft of a review with a summary. */
export function ReviewDialog({ review, card, verdict, onClose }: ReviewDialogProps) {
  const draft = useContext(DraftContext)!
  const { body, comments } = useStore(draft.state)
  const isEmpty = body.trim() === '' && comments.length === 0
  const send = async (as: Verdict) => {
    await review.send(as)
    showMessage(sent[as])
    onClose()
  }
  const receives = card.hasActiveAgent
    ? 'The agent receives your review as its next message'
    : 'The card’s agent starts and works on your review'
  return (
    <FormDialog
      title={titles[verdict]}
      submit={submits[verdict]}
      isDisabled={verdict === 'request_changes' && isEmpty}
      onSubmit={() => send(verdict)}
      onClose={onClose}
    >
      <OtherDraft />
      <Drafted />
      <Field label="Summary">
        {props => <textarea {...props} rows={4} value={body} onChange={({ target }) => draft.setBody(target.value)} />}
      </Field>
      {verdict === 'approve' ? (
        <p className="hint">The card is marked as approved. This does not merge the branch.</p>
      ) : (
        <>
          <p className="hint">{receives} immediately, which uses tokens.</p>
          <Button disabled={isEmpty} onClick={() => send('comment')}>
            Send as comments only
          </Button>
        </>
      )}
    </FormDialog>
  )
}

/** Offers a choice if another window has a different draft. */
export function OtherDraft() {
  const draft = useContext(DraftContext)!
  const { other } = useStore(draft.state)
  if (!other) return null
  return (
    <div className="notice" role="alert">
      <p>Another window has changed your draft, which now has {other.comments.length} comments.</p>
      <div className="buttons">
        <Button onClick={() => draft.takeOther(false)}>Use other draft</Button>
        <Button isMain onClick={() => draft.takeOther(true)}>
          Keep both
        </Button>
      </div>
    </div>
  )
}

/** Lists the lines of the draft's comments. */
function Drafted() {
  const { comments } = useStore(useContext(DraftContext)!.state)
  if (comments.length === 0) return null
  return (
    <ul className="drafted bullets">
      {comments.map((comment, at) => (
        <li key={at}>
          <code dir="ltr">
            <Visible text={inRepository(comment)} />
          </code>{' '}
          {placeOf(comment)}
        </li>
      ))}
    </ul>
  )
}
