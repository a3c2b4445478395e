import { memo, useEffect, useMemo, useRef, useState, type ReactNode } from 'react'
import type { DiffFile, DiffLine } from '../../../src/contract/forges/diffFiles.ts'
import { useHighlight, type Highlight, type Token } from './highlight.ts'
import { lineParts, Visible } from './lineParts.tsx'
import { NoteView } from './NoteView.tsx'
import { isChosen, noteKey, type Chosen, type Note, type Notes, type Row } from './rows.ts'

/** The number of rows that are rendered together, once they are near the visible area. */
export const rowsPerBlock = 40
const rowHeight = 20

interface DiffBlockProps {
  file: DiffFile
  rows: readonly Row[]
  from: number
  isSplit: boolean
  notes: Notes | undefined
  chosen: Chosen | undefined
  /** The row that receives the focus by the Tab key. Undefined if it is in another block. */
  current: number | undefined
}

/** Some rows of a file. Renders a placeholder of the same height until they are near the visible area. */
export const DiffBlock = memo(function DiffBlock(props: DiffBlockProps) {
  const { file, rows, from, isSplit } = props
  const body = useRef<HTMLTableSectionElement>(null)
  const isNear = useNear(body) || props.notes !== undefined || (props.current ?? 0) > 0
  const highlight = useHighlight(file.path, isNear)
  const shown = useMemo(() => rows.slice(from, from + rowsPerBlock), [rows, from])
  const rendered = useMemo(() => (isNear ? partsOf(shown, highlight) : undefined), [shown, highlight, isNear])
  return (
    <tbody ref={body}>
      {rendered ? (
        shown.map((row, at) => <DiffRow key={from + at} {...props} row={row} index={from + at} rendered={rendered} />)
      ) : (
        <tr aria-hidden="true" style={{ height: shown.length * rowHeight }}>
          <td colSpan={isSplit ? 4 : 3} />
        </tr>
      )}
    </tbody>
  )
})

interface DiffRowProps extends DiffBlockProps {
  row: Row
  index: number
  rendered: ReadonlyMap<DiffLine, ReactNode>
}

function DiffRow({ file, rows, row, index, isSplit, notes, chosen, current, rendered }: DiffRowProps) {
  const { left, right } = row
  const line = right ?? left!
  const isFirst = rows[index - 1]?.hunk !== row.hunk
  const below = notes ? notesBelow(notes, row) : []
  return (
    <>
      {isFirst && <HunkHead file={file} hunk={row.hunk} columns={isSplit ? 4 : 3} />}
      <tr
        data-row={index}
        tabIndex={index === current ? 0 : -1}
        className={isChosen(chosen, index) ? 'chosen' : undefined}
        aria-selected={isChosen(chosen, index) || undefined}
      >
        <LineNumber line={left?.old} side="old" kind={left?.kind} />
        {isSplit && <CodeCell line={left} rendered={rendered} />}
        <LineNumber line={right?.new} side="new" kind={right?.kind} />
        <CodeCell line={isSplit ? right : line} rendered={rendered} />
      </tr>
      {below.length > 0 && (
        <tr className="notes">
          <td colSpan={isSplit ? 4 : 3}>
            {below.map(note => (
              <NoteView key={keyOf(note)} note={note} />
            ))}
          </td>
        </tr>
      )}
    </>
  )
}

const HunkHead = ({ file, hunk, columns }: { file: DiffFile; hunk: number; columns: number }) => {
  const { oldStart, newStart, heading } = file.hunks[hunk]!
  return (
    <tr className="hunk">
      <td colSpan={columns}>
        <span className="dim">
          {file.status === 'deleted' ? `from line ${oldStart}` : `from line ${newStart}`} <Visible text={heading} />
        </span>
      </td>
    </tr>
  )
}

const LineNumber = ({
  line,
  side,
  kind,
}: {
  line: number | undefined
  side: 'old' | 'new'
  kind: string | undefined
}) => (
  <td className={`number ${kind ?? 'none'}`} data-side={side}>
    {line !== undefined && (
      <button
        type="button"
        tabIndex={-1}
        className="line-number"
        aria-label={`Comment on line ${line}${side === 'old' ? ' of the old version' : ''}`}
      >
        {line}
      </button>
    )}
  </td>
)

const signs = { same: ' ', added: '+', removed: '-' }
const CodeCell = ({ line, rendered }: { line: DiffLine | undefined; rendered: ReadonlyMap<DiffLine, ReactNode> }) => (
  <td className={`code ${line?.kind ?? 'none'}`} data-side={line?.new === undefined ? 'old' : 'new'}>
    {line && (
      <>
        <span className="sign">{signs[line.kind]}</span>
        <code dir="ltr">{rendered.get(line)}</code>
      </>
    )}
  </td>
)

function notesBelow({ at }: Notes, { left, right }: Row): Note[] {
  const keys = [
    left?.old === undefined ? '' : noteKey('old', left.old),
    right?.new === undefined ? '' : noteKey('new', right.new),
  ]
  return keys.flatMap(key => at.get(key) ?? [])
}

/** The React key of a note. The form has a constant key, so that it keeps its state while other notes change. */
export const keyOf = (note: Note): string =>
  note.kind === 'thread'
    ? note.comment.id
    : note.kind === 'form'
      ? 'form'
      : `draft ${note.comment.side} ${note.comment.line} ${note.comment.body}`

function partsOf(rows: readonly Row[], highlight: Highlight | undefined): ReadonlyMap<DiffLine, ReactNode> {
  const parts = new Map<DiffLine, ReactNode>()
  const renderLines = (lines: readonly DiffLine[]) => {
    const tokens: Token[][] | undefined = highlight?.(lines.map(({ text }) => text))
    lines.forEach((line, at) => parts.set(line, lineParts(line, tokens?.[at])))
  }
  const left = rows.flatMap(row => row.left ?? [])
  if (left.some(({ kind }) => kind === 'removed')) renderLines(left)
  renderLines(rows.flatMap(row => row.right ?? []))
  return parts
}

const nearMargin = '1200px'
const callbacks = new Map<Element, () => void>()
let observer: IntersectionObserver | undefined

/** Returns whether an element has been near the visible area. All elements share one observer. */
function useNear(ref: React.RefObject<HTMLElement | null>): boolean {
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    if (isNear) return
    observer ??= new IntersectionObserver(
      entries => {
        for (const { target, isIntersecting } of entries) if (isIntersecting) callbacks.get(target)?.()
      },
      { rootMargin: nearMargin },
    )
    const element = ref.current!
    callbacks.set(element, () => setNear(true))
    observer.observe(element)
    return () => {
      callbacks.delete(element)
      observer!.unobserve(element)
    }
  }, [isNear])
  return isNear
}
