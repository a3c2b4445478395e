import { memo, useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react'
import { flushSync } from 'react-dom'
import type { DiffFile } from '../../../src/contract/forges/diffFiles.ts'
import { announce } from '../app/messages.ts'
import { DiffBlock, rowsPerBlock } from './DiffBlock.tsx'
import type { FileLines } from './reviewDraft.ts'
import { isChosen, lineAt, linesOf, rowsOf, type Chosen, type Notes, type Row, type Side } from './rows.ts'

interface DiffTableProps {
  file: DiffFile
  isSplit: boolean
  notes: Notes
  /** Undefined if the person cannot comment. */
  onComment: ((lines: FileLines) => void) | undefined
  /** Whether only new lines can be commented on, because the old lines are not those of the card's base. */
  isNewOnly: boolean
  onViewed: () => void
}

/** The lines of a file. Arrow keys move between lines, Shift selects several, and `c` comments on the selection. */
export const DiffTable = memo(function DiffTable(props: DiffTableProps) {
  const { file, isSplit, notes } = props
  const rows = useMemo(() => rowsOf(file, isSplit), [file, isSplit])
  const [chosen, setChosen] = useState<Chosen>()
  const [current, setCurrent] = useState(0)
  const table = useRef<HTMLTableElement>(null)
  useEffect(() => setChosen(undefined), [rows])
  const comment = useComment(props, rows)
  const pointer = usePointer(rows, chosen, setChosen, setCurrent, comment)
  const go = useCallback(
    (row: number, isRange: boolean) => {
      const to = Math.max(0, Math.min(rows.length - 1, row))
      // The row might not be rendered yet, but must have the focus before the next key.
      flushSync(() => {
        setCurrent(to)
        setChosen(before => {
          const side = before?.side ?? 'new'
          const has = lineAt(rows[to], side) !== undefined ? side : side === 'new' ? 'old' : 'new'
          return isRange ? { side, from: before?.from ?? current, to } : { side: has, from: to, to }
        })
      })
      table.current?.querySelector<HTMLElement>(`[data-row="${to}"]`)?.focus()
    },
    [rows, current],
  )
  const blocks = []
  for (let from = 0; from < rows.length; from += rowsPerBlock)
    blocks.push(
      <DiffBlock
        key={from}
        file={file}
        rows={rows}
        from={from}
        isSplit={isSplit}
        notes={hasNotes(notes, rows, from) ? notes : undefined}
        chosen={includesRow(chosen, from) ? chosen : undefined}
        current={current >= from && current < from + rowsPerBlock ? current : undefined}
      />,
    )
  return (
    <table
      ref={table}
      className={isSplit ? 'diff split' : 'diff'}
      aria-label="Changed lines"
      onKeyDown={event => onKey(event, rows, current, { go, comment, onViewed: props.onViewed, chosen })}
      onFocus={({ target }) => {
        const row = Number((target as HTMLElement).dataset.row ?? NaN)
        if (Number.isInteger(row) && row !== current) setCurrent(row)
      }}
      {...pointer}
    >
      <colgroup>
        <col className="number" />
        {isSplit && <col />}
        <col className="number" />
        <col />
      </colgroup>
      {blocks}
    </table>
  )
})

function useComment({ file, isNewOnly, onComment }: DiffTableProps, rows: readonly Row[]): (chosen: Chosen) => void {
  return useCallback(
    chosen => {
      if (!onComment) return
      const side: Side = linesOf(file, rows, chosen) ? chosen.side : chosen.side === 'new' ? 'old' : 'new'
      const lines = linesOf(file, rows, { ...chosen, side })
      if (side === 'old' && isNewOnly) announce('To comment on deleted lines, open the complete diff.')
      else if (lines) onComment(lines)
    },
    [file, rows, isNewOnly, onComment],
  )
}

/** A click on a line number comments on the line. Shift+click and dragging comment on a range of lines. */
function usePointer(
  rows: readonly Row[],
  chosen: Chosen | undefined,
  setChosen: (chosen: Chosen) => void,
  setCurrent: (row: number) => void,
  comment: (chosen: Chosen) => void,
) {
  const dragged = useRef<Chosen>(undefined)
  const at = ({ target }: { target: EventTarget }): { row: number; side: Side } | undefined => {
    const row = Number((target as HTMLElement).closest<HTMLElement>('[data-row]')?.dataset.row ?? NaN)
    const side = (target as HTMLElement).closest<HTMLElement>('[data-side]')?.dataset.side as Side | undefined
    return Number.isInteger(row) ? { row, side: side ?? 'new' } : undefined
  }
  const isNumber = ({ target }: { target: EventTarget }) => (target as HTMLElement).closest('.line-number') !== null
  return {
    onPointerDown: (event: PointerEvent) => {
      const place = at(event)
      if (!place || !isNumber(event) || event.button !== 0) return
      const from = event.shiftKey && chosen?.side === place.side ? chosen.from : place.row
      dragged.current = { side: place.side, from, to: place.row }
      setChosen(dragged.current)
      setCurrent(place.row)
      const end = () => {
        const done = dragged.current
        dragged.current = undefined
        if (done) comment(done)
      }
      if (event.pointerType === 'mouse') addEventListener('pointerup', end, { once: true })
      else dragged.current = undefined
    },
    onPointerOver: (event: PointerEvent) => {
      const place = at(event)
      if (!dragged.current || !place || rows[place.row]?.hunk !== rows[dragged.current.from]?.hunk) return
      dragged.current = { ...dragged.current, to: place.row }
      setChosen(dragged.current)
    },
    onClick: (event: React.MouseEvent) => {
      const place = at(event)
      // The comment of a mouse click was opened on pointerup.
      const isMouse = (event.nativeEvent as unknown as { pointerType?: string }).pointerType === 'mouse'
      if (place && isNumber(event) && !isMouse) comment({ side: place.side, from: place.row, to: place.row })
    },
  }
}

interface KeyActions {
  go: (row: number, isRange: boolean) => void
  comment: (chosen: Chosen) => void
  onViewed: () => void
  chosen: Chosen | undefined
}

function onKey(
  event: KeyboardEvent<HTMLElement>,
  rows: readonly Row[],
  current: number,
  { go, comment, onViewed, chosen }: KeyActions,
): void {
  if (!(event.target as HTMLElement).matches('[data-row]')) return
  const step = stepOf(event.key)
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (step !== 0) {
    if (!focusOtherFile(event.currentTarget, current + step, rows.length)) go(current + step, event.shiftKey)
  } else if (event.key === 'c' || event.key === 'Enter') comment(chosen ?? { side: 'new', from: current, to: current })
  else if (event.key === 'n' || event.key === 'p') go(hunkFrom(rows, current, event.key === 'n' ? 1 : -1), false)
  else if (event.key === 'v') onViewed()
  else return
  event.preventDefault()
  event.stopPropagation()
}

const stepOf = (key: string): number =>
  key === 'ArrowDown' || key === 'j' ? 1 : key === 'ArrowUp' || key === 'k' ? -1 : 0

/** Moves the focus from the first or last line to the neighboring file. Returns false if there is none. */
function focusOtherFile(table: HTMLElement, row: number, rows: number): boolean {
  if (row >= 0 && row < rows) return false
  const tables = [...(table.closest('.review')?.querySelectorAll('table.diff') ?? [])]
  const other = tables[tables.indexOf(table) + (row < 0 ? -1 : 1)]
  const lines = other?.querySelectorAll<HTMLElement>('[data-row]')
  const line = row < 0 ? lines?.[lines.length - 1] : lines?.[0]
  line?.focus()
  return line !== undefined
}

function hunkFrom(rows: readonly Row[], current: number, step: 1 | -1): number {
  const hunk = (rows[current]?.hunk ?? 0) + step
  const found = rows.findIndex(row => row.hunk === hunk)
  return found < 0 ? current : found
}

const includesRow = (chosen: Chosen | undefined, from: number): boolean =>
  chosen !== undefined &&
  (isChosen(chosen, from) ||
    isChosen(chosen, from + rowsPerBlock - 1) ||
    (Math.min(chosen.from, chosen.to) >= from && Math.max(chosen.from, chosen.to) < from + rowsPerBlock))

function hasNotes({ at }: Notes, rows: readonly Row[], from: number): boolean {
  if (at.size === 0) return false
  for (const row of rows.slice(from, from + rowsPerBlock))
    for (const side of ['old', 'new'] as const) if (at.has(`${side}:${lineAt(row, side)}`)) return true
  return false
}
