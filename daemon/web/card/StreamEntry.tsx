import { useState } from 'react'
import { activityWords } from '../../../src/boardModel/activityWords.ts'
import { showError } from '../app/messages.ts'
import { useProject } from '../app/projects.ts'
import { client, session } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Markdown } from '../ui/Markdown.tsx'
import { plainText } from '../ui/plainText.ts'
import { Time } from '../ui/Time.tsx'
import type { Activity, Comment, Entry, Review } from './activityStream.ts'
import { CommentBox } from './CommentBox.tsx'
import { useOpened } from './openedCard.ts'
import { inRepository, Thread } from '../review/NoteView.tsx'
import { verdictWords } from '../review/SinceChoice.tsx'

interface StreamEntryProps {
  entry: Entry
  onChanged: () => Promise<void>
}

/** A comment, a review or an event in the history of a card. */
export function StreamEntry({ entry, onChanged }: StreamEntryProps) {
  if (entry.kind === 'comment') return <Commented comment={entry.comment} onChanged={onChanged} />
  return entry.kind === 'review' ? <Reviewed review={entry.review} /> : <Done activity={entry.activity} />
}

const Done = ({ activity }: { activity: Activity }) => (
  <p className="done-line">
    <strong>{plainText(activity.actor.name)}</strong>
    {activity.actor.kind === 'key' && <span className="dim"> (API key)</span>} {plainText(activityWords(activity))}{' '}
    <span className="dim">
      <Time at={activity.at} />
    </span>
  </p>
)

function Commented({ comment, onChanged }: { comment: Comment; onChanged: () => Promise<void> }) {
  const { projectId, cardId } = useOpened()
  const { id: commentId, author, body, createdAt, editedAt } = comment
  const [edited, setEdited] = useState<string>()
  const myId = useStore(session, now => (now.name === 'in' ? now.me.id : null))
  const isManager = useProject(projectId)?.role === 'admin'
  const isMine = author.kind === 'user' && author.userId === (myId === '0' ? null : myId)
  const place = { projectId, cardId, commentId }
  const save = async (text: string) => {
    await client.comments.update({ ...place, body: text })
    setEdited(undefined)
    await onChanged()
  }
  const remove = () =>
    confirm({
      title: 'Delete comment?',
      text: 'This permanently deletes the comment.',
      submit: 'Delete',
      run: () => client.comments.delete(place).then(onChanged),
    })
  return (
    <article className="comment" aria-label={`Comment by ${plainText(author.displayName)}`}>
      <header>
        <strong>{plainText(author.displayName)}</strong>
        {author.kind !== 'user' && <span className="mark">{author.kind}</span>}
        <span className="dim">
          <Time at={createdAt} />
          {editedAt !== null && ', edited'}
        </span>
        <span className="comment-tools">
          {isMine && edited === undefined && (
            <Button isPlain icon="edit" label="Edit comment" onClick={() => setEdited(body)} />
          )}
          {(isMine || isManager) && <Button isPlain icon="trash" label="Delete comment" onClick={remove} />}
        </span>
      </header>
      {edited === undefined ? (
        <Markdown text={body} breaks onEdit={isMine ? text => void save(text).catch(showError) : undefined} />
      ) : (
        <CommentBox
          label="Comment"
          text={edited}
          onText={setEdited}
          submit="Save"
          onSubmit={() => save(edited)}
          onCancel={() => setEdited(undefined)}
        />
      )}
    </article>
  )
}

/** A submitted review with its comments and the answers of the agent. */
function Reviewed({ review }: { review: Review }) {
  const { author, verdict, round, createdAt, body, comments } = review
  const answered = comments.filter(({ answer }) => answer !== null).length
  const name = plainText(author.displayName) || 'Deleted account'
  return (
    <article className="comment" aria-label={`Review by ${name}`}>
      <header>
        <strong>{name}</strong> {verdictWords[verdict]}
        <span className="dim">
          round {round}, <Time at={createdAt} />
        </span>
      </header>
      {body.trim() !== '' && <Markdown text={body} breaks />}
      {comments.length > 0 && (
        <details className="folded">
          <summary>
            {answered} of {comments.length} comments answered
          </summary>
          {comments.map(comment => (
            <div key={comment.id}>
              <code dir="ltr">{plainText(inRepository(comment))}</code>
              <Thread review={review} comment={comment} isQuoted />
            </div>
          ))}
        </details>
      )}
    </article>
  )
}
