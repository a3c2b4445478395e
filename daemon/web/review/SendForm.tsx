import { useContext, useState } from 'react'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { showMessage } from '../app/messages.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'
import { Visible } from './lineParts.tsx'
import { DraftContext, inRepository, placeOf } from './NoteView.tsx'
import type { ReviewStore, Verdict } from './reviewStore.ts'

const sent: Record<Verdict, string> = {
  request_changes: 'Sent the review. The agent is working on it.',
  comment: 'Sent the review. No agent was started.',
  approve: 'Approved the card.',
}

/** The end of a review: its summary and its verdict. */
export function SendForm({ review, card }: { review: ReviewStore; card: CardDetail }) {
  const draft = useContext(DraftContext)!
  const { body, comments, saveState, reason } = useStore(draft.state)
  const [verdict, setVerdict] = useState<Verdict>('request_changes')
  const submits: Record<Verdict, string> = {
    request_changes: 'Request changes and start the agent',
    comment: 'Send comments',
    approve: 'Approve',
  }
  const starts = card.hasActiveAgent
    ? 'goes to the agent as its next message'
    : 'starts the card’s agent, which works on it'
  const hints: Record<Verdict, string> = {
    request_changes: `Your review ${starts} immediately, which uses tokens.`,
    comment: 'The review is stored with the card. No agent starts.',
    approve: 'The card is marked as approved. This does not merge the branch.',
  }
  return (
    <section className="send panel" aria-label="Your review">
      <h2>Your review</h2>
      <OtherDraft />
      <Form
        submit={submits[verdict]}
        onSubmit={async () => {
          await review.send(verdict)
          showMessage(sent[verdict])
        }}
      >
        <Drafted />
        <Field label="Summary" hint={words(saveState, comments.length, reason)}>
          {props => (
            <textarea {...props} rows={4} value={body} onChange={({ target }) => draft.setBody(target.value)} />
          )}
        </Field>
        <fieldset className="verdicts">
          <legend>Verdict</legend>
          {(['request_changes', 'comment', 'approve'] as const).map(each => (
            <label key={each}>
              <input type="radio" name="verdict" checked={each === verdict} onChange={() => setVerdict(each)} />
              <span>
                {names[each]}
                <span className="hint"> {hints[each]}</span>
              </span>
            </label>
          ))}
        </fieldset>
      </Form>
    </section>
  )
}

/** Offers a choice if another window has a different draft. */
function OtherDraft() {
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

/** Where the comments of the draft are. */
function Drafted() {
  const { comments } = useStore(useContext(DraftContext)!.state)
  if (comments.length === 0) return null
  return (
    <ul className="drafted">
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

const names: Record<Verdict, string> = { request_changes: 'Request changes', comment: 'Comment', approve: 'Approve' }

const words = (saveState: string, comments: number, reason: string | undefined): string =>
  `${comments} ${comments === 1 ? 'comment' : 'comments'} in your draft. ${
    saveState === 'saved' ? 'Saved on the server.' : saveState === 'failed' ? `Not saved: ${reason}` : 'Saving…'
  }`
