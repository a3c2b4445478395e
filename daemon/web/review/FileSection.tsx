import { memo, useState } from 'react'
import type { DiffFile } from '../../../src/contract/forges/diffFiles.ts'
import { Button } from '../ui/Button.tsx'
import { Icon } from '../ui/Icon.tsx'
import { DiffTable } from './DiffTable.tsx'
import { keyOf } from './DiffBlock.tsx'
import type { FileLines } from './reviewDraft.ts'
import { Images, isImage } from './Images.tsx'
import { Visible } from './lineParts.tsx'
import { NoteView, Thread } from './NoteView.tsx'
import type { CardPlace } from './reviewStore.ts'
import type { Notes } from './rows.ts'

const largeLines = 2000

interface FileSectionProps {
  file: DiffFile
  place: CardPlace & { repository: string }
  since: string | undefined
  isSplit: boolean
  notes: Notes
  isViewed: boolean
  onViewed: (file: DiffFile) => void
  onComment: ((lines: FileLines) => void) | undefined
}

/** A file of the diff: its status, its lines and its comments. */
export const FileSection = memo(function FileSection(props: FileSectionProps) {
  const { file, place, since, isSplit, notes, isViewed, onViewed, onComment } = props
  const reason = reasonToFold(file)
  const [isOpen, setOpen] = useState<boolean>()
  const isShown = isOpen ?? (!isViewed && reason === undefined)
  const markViewed = () => {
    onViewed(file)
    setOpen(isViewed ? undefined : false)
  }
  const id = idOf(file)
  return (
    <section className="file" id={id} aria-labelledby={`${id}-name`} tabIndex={-1}>
      <header>
        <Button
          isPlain
          icon={isShown ? 'down' : 'right'}
          label={isShown ? 'Hide file' : 'Show file'}
          aria-expanded={isShown}
          onClick={() => setOpen(!isShown)}
        />
        <h2 id={`${id}-name`}>
          <bdi dir="ltr">
            {(file.status === 'renamed' || file.status === 'copied') && (
              <>
                <Visible text={file.oldPath} /> →{' '}
              </>
            )}
            <Visible text={file.path} />
          </bdi>
        </h2>
        <Changes file={file} />
        <label className="viewed">
          <input type="checkbox" checked={isViewed} onChange={markViewed} /> Viewed
        </label>
      </header>
      {notes.outdated.map(note =>
        note.kind === 'thread' ? (
          <Thread key={note.comment.id} review={note.review} comment={note.comment} isOutdated />
        ) : (
          <NoteView key={keyOf(note)} note={note} />
        ),
      )}
      {!isShown && reason !== undefined && !isViewed && !isImage(file) && (
        <p className="folded">
          {reason} {file.hunks.length > 0 && <Button onClick={() => setOpen(true)}>Show file</Button>}
        </p>
      )}
      {isImage(file) && !isViewed && <Images file={file} place={place} since={since} />}
      {isShown && file.hunks.length > 0 && (
        <DiffTable
          file={file}
          isSplit={isSplit}
          notes={notes}
          onComment={onComment}
          isNewOnly={since !== undefined}
          onViewed={markViewed}
        />
      )}
    </section>
  )
})

/** The status of a file, and the number of changed lines. */
function Changes({ file }: { file: DiffFile }) {
  const { status, oldMode, newMode, insertions, deletions } = file
  return (
    <span className="changes">
      {status !== 'modified' && <span className="label">{status}</span>}
      {oldMode !== undefined && newMode !== undefined && oldMode !== newMode && (
        <span className="label">
          mode {oldMode} → {newMode}
        </span>
      )}
      <Counts insertions={insertions} deletions={deletions} />
    </span>
  )
}

export const Counts = ({ insertions, deletions }: { insertions: number; deletions: number }) =>
  insertions + deletions > 0 && (
    <span className="counts">
      <span className="plus">+{insertions}</span> <span className="minus">−{deletions}</span>
    </span>
  )

function reasonToFold(file: DiffFile): string | undefined {
  if (file.isBinary) return 'Binary file.'
  if (file.insertions + file.deletions > largeLines)
    return `A large change of ${file.insertions + file.deletions} lines.`
  if (file.hunks.length > 0) return undefined
  if (file.status === 'modified' && file.oldMode !== file.newMode) return 'Only the file mode has changed.'
  if (file.status === 'renamed' || file.status === 'copied') return 'The contents are unchanged.'
  return file.insertions + file.deletions === 0 && file.status !== 'modified'
    ? 'Empty file.'
    : 'The file is too large for a line diff.'
}

const ids = new WeakMap<DiffFile, string>()
let lastId = 0
/** Returns an element ID that does not contain the file name. */
function idOf(file: DiffFile): string {
  const id = ids.get(file) ?? `file-${++lastId}`
  ids.set(file, id)
  return id
}

/** The files as a tree of their folders. */
export function FileTree({
  files,
  isViewed,
  commentCount,
}: {
  files: readonly DiffFile[]
  isViewed: (file: DiffFile) => boolean
  commentCount: (file: DiffFile) => number
}) {
  const folders = Map.groupBy(files, ({ path }) => path.slice(0, path.lastIndexOf('/') + 1))
  return (
    <nav className="tree" aria-label="Files">
      {[...folders].map(([folder, some]) => (
        <div key={folder} className="folder">
          {folder !== '' && (
            <p className="dim">
              <Icon name="folder" /> <Visible text={folder} />
            </p>
          )}
          <ul>
            {some.map(file => (
              <li key={idOf(file)}>
                <button type="button" onClick={() => goTo(file)}>
                  <span className={isViewed(file) ? 'name viewed' : 'name'}>
                    <Visible text={file.path.slice(folder.length)} />
                  </span>
                  {commentCount(file) > 0 && (
                    <span className="label">
                      {commentCount(file)}
                      <span className="visually-hidden"> comments</span>
                    </span>
                  )}
                  <Counts insertions={file.insertions} deletions={file.deletions} />
                  {isViewed(file) && <span className="visually-hidden">viewed</span>}
                </button>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

function goTo(file: DiffFile): void {
  const section = document.getElementById(idOf(file))
  section?.scrollIntoView({ block: 'start' })
  ;(section?.querySelector<HTMLElement>('[data-row][tabindex="0"]') ?? section)?.focus({ preventScroll: true })
}
