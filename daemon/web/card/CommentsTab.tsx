import { useState } from 'react'
import { activityWords } from '../../../src/boardModel/activityWords.ts'
import { useProject } from '../app/projects.ts'
import { client, session } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { useDraft } from '../ui/draft.ts'
import { Markdown } from '../ui/Markdown.tsx'
import { Failure } from '../ui/Page.tsx'
import { plainText } from '../ui/plainText.ts'
import { Time } from '../ui/Time.tsx'
import { useActivityStream, type Activity, type Comment, type Entry } from './activityStream.ts'
import { CommentBox } from './CommentBox.tsx'
import { useOpened } from './openedCard.ts'

/** The comments and activity of the card, newest first, and the comment box. */
export function CommentsTab() {
  const { projectId, cardId } = useOpened()
  const stream = useActivityStream(projectId, cardId)
  const [text, setText] = useDraft(`comment ${cardId}`)
  const write = async () => {
    await client.comments.create({ projectId, cardId, body: text })
    setText('')
    await stream.reload()
  }
  return (
    <div className="opened-tab">
      <CommentBox label="Write a comment" text={text} onText={setText} submit="Comment" onSubmit={write} />
      {stream.value === undefined && stream.error !== undefined && (
        <Failure error={stream.error} onRetry={stream.reload} />
      )}
      <ol className="activity" aria-label="Activity">
        {stream.value?.entries.map(entry => (
          <li key={entry.key}>
            <Shown entry={entry} onChanged={stream.reload} />
          </li>
        ))}
      </ol>
      {stream.value?.hasMore && (
        <Button disabled={stream.isLoading} onClick={stream.showOlder}>
          Show older
        </Button>
      )}
      {stream.value?.entries.length === 0 && <p className="dim">No comments yet. Write the first one above.</p>}
    </div>
  )
}

const Shown = ({ entry, onChanged }: { entry: Entry; onChanged: () => Promise<void> }) =>
  'comment' in entry ? <Said comment={entry.comment} onChanged={onChanged} /> : <Done activity={entry.activity} />

const Done = ({ activity }: { activity: Activity }) => (
  <p className="done-line">
    <strong>{plainText(activity.actor.name)}</strong>
    {activity.actor.kind === 'key' && <span className="dim"> (API key)</span>} {plainText(activityWords(activity))}{' '}
    <span className="dim">
      <Time at={activity.at} />
    </span>
  </p>
)

function Said({ comment, onChanged }: { comment: Comment; onChanged: () => Promise<void> }) {
  const { projectId, cardId } = useOpened()
  const { id: commentId, author, body, createdAt, editedAt } = comment
  const [edited, setEdited] = useState<string>()
  const myId = useStore(session, now => (now.name === 'in' ? now.me.id : null))
  const isManager = useProject(projectId)?.role === 'admin'
  const isMine = author.kind === 'user' && author.userId === (myId === '0' ? null : myId)
  const place = { projectId, cardId, commentId }
  const save = async () => {
    await client.comments.update({ ...place, body: edited! })
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
        <Markdown text={body} breaks />
      ) : (
        <CommentBox
          label="Comment"
          text={edited}
          onText={setEdited}
          submit="Save"
          onSubmit={save}
          onCancel={() => setEdited(undefined)}
        />
      )}
    </article>
  )
}
