import { useContext, useEffect, useRef, useState, createContext } from 'react'
import { Button } from '../ui/Button.tsx'
import { Time } from '../ui/Time.tsx'
import { useStore } from '../app/store.ts'
import type { DraftComment, ReviewDraft, FileLines, OpenForm } from './reviewDraft.ts'
import { Visible } from './lineParts.tsx'
import type { Review, ReviewComment } from './reviewStore.ts'
import type { Note } from './rows.ts'

/** The review draft that new comments are added to. */
export const DraftContext = createContext<ReviewDraft | undefined>(undefined)

/** The notes below a line: a comment of an earlier review, a draft comment, or an open form. */
export function NoteView({ note }: { note: Note }) {
  if (note.kind === 'thread') return <Thread review={note.review} comment={note.comment} />
  return note.kind === 'draft' ? <Drafted comment={note.comment} /> : <CommentForm form={note.form} />
}

/** Formats the lines of a comment and the version of the file: `3`, `3–5`. */
export const placeOf = ({ startLine, line, side }: Omit<FileLines, 'path'>): string =>
  `${startLine === null || startLine === line ? `line ${line}` : `lines ${startLine}–${line}`}${side === 'old' ? ' (before)' : ''}`

/** A file's path, after the name of its repository unless that is the project's home. */
export const inRepository = ({ repository, path }: { repository: string; path: string }): string =>
  repository === '' ? path : `${repository}: ${path}`

/** A comment that was sent, with the agent's answer. */
export function Thread({
  review,
  comment,
  isOutdated,
  isQuoted = isOutdated,
}: {
  review: Review
  comment: ReviewComment
  isOutdated?: boolean
  /** Whether the commented lines are quoted, because the diff is not around the comment. */
  isQuoted?: boolean
}) {
  const { author, round, createdAt } = review
  return (
    <article
      className="note thread"
      aria-label={`Comment by ${author.displayName || 'a deleted account'} on ${placeOf(comment)}`}
    >
      <header>
        <strong>{author.displayName || 'Deleted account'}</strong>
        <span className="dim">
          round {round}, {placeOf(comment)}, <Time at={createdAt} />
        </span>
        {comment.resolvedAt && <span className="status completed">resolved</span>}
        {isOutdated && <span className="status">outdated</span>}
      </header>
      {isQuoted && (
        <pre className="quoted">
          <Lined text={comment.text} />
        </pre>
      )}
      <p className="said">
        <Lined text={comment.body} />
      </p>
      {comment.answer !== null && (
        <div className="answer">
          <strong>Answer from the agent</strong>
          <p className="said">
            <Lined text={comment.answer} />
          </p>
        </div>
      )}
    </article>
  )
}

/** Untrusted text of several lines. */
export const Lined = ({ text }: { text: string }) =>
  text.split('\n').map((line, at) => (
    <span key={at}>
      {at > 0 && '\n'}
      <Visible text={line} />
    </span>
  ))

function Drafted({ comment }: { comment: DraftComment }) {
  const draft = useContext(DraftContext)!
  const refused = useStore(draft.state, state => state.refused)
  return (
    <article className="note draft" aria-label={`Your comment on ${placeOf(comment)}, not sent`}>
      <header>
        <strong>You</strong>
        <span className="dim">{placeOf(comment)}, not sent</span>
        <span className="tools">
          <Button isPlain icon="edit" label="Edit comment" onClick={() => draft.open(comment, comment)} />
          <Button isPlain icon="trash" label="Remove comment" onClick={() => draft.remove(comment)} />
        </span>
      </header>
      <p className="said">
        <Lined text={comment.body} />
      </p>
      {refused.has(comment) && (
        <p className="error" role="alert">
          A draft comment {refused.get(comment)}. Edit or remove it.
        </p>
      )}
    </article>
  )
}

function CommentForm({ form }: { form: OpenForm }) {
  const draft = useContext(DraftContext)!
  const [body, setBody] = useState(form.body)
  const area = useRef<HTMLTextAreaElement>(null)
  const focusAndClose = (done: () => void) => {
    const row = area.current?.closest('tr.notes')?.previousElementSibling
    // Focus immediately, because a later call could take the focus from the next pressed element.
    if (row instanceof HTMLElement) row.focus()
    done()
  }
  useEffect(() => area.current?.focus(), [])
  return (
    <form
      className="note"
      aria-label={`Comment on ${placeOf(form)}`}
      onSubmit={event => {
        event.preventDefault()
        focusAndClose(() => draft.add())
      }}
      onKeyDown={event => {
        event.stopPropagation()
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) focusAndClose(() => draft.add())
        else if (event.key === 'Escape' && body === (form.replaces?.body ?? '')) focusAndClose(() => draft.close())
      }}
    >
      <textarea
        ref={area}
        rows={3}
        maxLength={16_384}
        aria-label={`Comment on ${placeOf(form)}`}
        value={body}
        onChange={({ target }) => {
          setBody(target.value)
          draft.type(target.value)
        }}
      />
      <div className="buttons">
        <span className="dim">{placeOf(form)} · Ctrl+Enter adds the comment to your draft</span>
        <Button onClick={() => focusAndClose(() => draft.close())}>Cancel</Button>
        <Button isMain type="submit" disabled={body.trim() === ''}>
          {form.replaces ? 'Save' : 'Add comment'}
        </Button>
      </div>
    </form>
  )
}
