import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useMemo, useRef } from 'react'
import type { Sort } from '../../../src/boardModel/sort.ts'
import { useStore } from '../app/store.ts'
import { Icon } from '../ui/Icon.tsx'
import { adding, sortBy, toggleSelected } from './actions.ts'
import type { TableLine } from './arrangement.ts'
import type { BoardSession } from './boardSession.ts'
import { includeCurrent } from './CardList.tsx'
import { LaneHead } from './LaneHead.tsx'
import { QuickAdd } from './QuickAdd.tsx'
import { TableRow } from './TableRow.tsx'

const linePx = 38

/** The columns of the table, and the orders that their heads choose. */
const fields: readonly [field: string, name: string, sort: Sort][] = [
  ['number', 'ID', 'number'],
  ['title', 'Title', 'title'],
  ['column', 'Column', 'board'],
  ['status', 'Status', 'status'],
  ['priority', 'Priority', 'priority'],
  ['assignees', 'Assignees', 'assignee'],
  ['labels', 'Labels', 'label'],
  ['due', 'Due date', 'due'],
  ['agent', 'Agent', 'agent'],
  ['changed', 'Updated', 'changed'],
]

/** The cards of a board as a table. Renders only the visible lines. */
export function TableView({ session }: { session: BoardSession }) {
  const { lines, order } = useStore(session.state, () => session.arrangement())
  const hasSelected = useStore(session.state, ({ selected }) => selected.size > 0)
  const isRead = useStore(session.state, ({ cache }) => cache.columns.every(({ isWhole }) => isWhole))
  const scroller = useRef<HTMLDivElement>(null)
  const kept = useStore(session.cursor.state, () => session.cursor.cardId) ?? order[0]
  const wanted = useStore(session.cursor.state, state => state.wanted)
  const current = useMemo(() => lines.findIndex(line => 'cardId' in line && line.cardId === kept), [lines, kept])
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => linePx,
    getItemKey: at => keyOf(lines[at]!),
    overscan: 10,
    scrollMargin: linePx,
    scrollPaddingStart: linePx,
    useFlushSync: false,
    // The focused row stays rendered when it is scrolled out of view.
    rangeExtractor: range => includeCurrent(defaultRangeExtractor(range), current, range.count),
  })
  useLayoutEffect(() => {
    if (wanted !== undefined && wanted === kept && current >= 0) virtualizer.scrollToIndex(current, { align: 'auto' })
  }, [wanted, current])
  useLayoutEffect(() => session.cursor.restoreFocus())
  return (
    <>
      <div ref={scroller} className={`card-table ${hasSelected ? 'selecting' : ''}`}>
        <div
          role="grid"
          aria-label="Cards"
          aria-multiselectable
          aria-rowcount={lines.length + 1}
          aria-colcount={fields.length + 1}
        >
          <TableHead session={session} order={order} />
          <div role="rowgroup" style={{ height: virtualizer.getTotalSize() }}>
            {virtualizer.getVirtualItems().map(({ key, index, start }) => {
              const line = lines[index]!
              return (
                <div
                  key={key}
                  className="table-line"
                  role="presentation"
                  style={{ transform: `translateY(${start - linePx}px)` }}
                >
                  {'lane' in line ? (
                    <div role="row" aria-rowindex={index + 2} className="table-group">
                      <div role="gridcell" aria-colspan={fields.length + 1}>
                        <LaneHead session={session} lane={line.lane} />
                      </div>
                    </div>
                  ) : (
                    <TableRow session={session} {...line} at={index + 2} isCurrent={index === current} />
                  )}
                </div>
              )
            })}
          </div>
        </div>
        {lines.length === 0 && <p className="loading">{isRead ? 'No results' : 'Loading…'}</p>}
      </div>
      <NewCard session={session} />
    </>
  )
}

/** Adds cards to the column of the focused card. */
function NewCard({ session }: { session: BoardSession }) {
  const { columns } = useStore(session.state, () => session.currentBoard())
  const focused = useStore(session.cursor.state, state => state.columnId)
  const columnId = useStore(adding) ?? focused
  const column = columns.find(({ id }) => id === columnId) ?? columns[0]
  return column && <QuickAdd session={session} column={column} />
}

const keyOf = (line: TableLine): string => ('lane' in line ? `group ${line.lane.key}` : line.cardId)

function TableHead({ session, order }: { session: BoardSession; order: readonly string[] }) {
  const isAll = useStore(session.state, ({ selected }) => order.length > 0 && order.every(id => selected.has(id)))
  return (
    <div role="row" aria-rowindex={1} className="table-row table-head">
      <div role="columnheader" data-field="select">
        <input
          type="checkbox"
          aria-label="Select all cards"
          checked={isAll}
          onChange={() => toggleSelected(session, order)}
        />
      </div>
      {fields.map(([field, name, sort]) => (
        <ColumnHeader key={field} session={session} field={field} name={name} sort={sort} />
      ))}
    </div>
  )
}

/** Orders whose first value is the highest. */
const descending: ReadonlySet<Sort> = new Set(['changed', 'priority'])

interface HeaderProps {
  session: BoardSession
  field: string
  name: string
  sort: Sort
}

function ColumnHeader({ session, field, name, sort }: HeaderProps) {
  const isSorted = useStore(session.state, state => state.sort === sort)
  const isDescending = useStore(session.state, state => state.isReversed) !== descending.has(sort)
  return (
    <div
      role="columnheader"
      data-field={field}
      aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}
    >
      <button type="button" onClick={() => sortBy(session, sort)}>
        <span className="word">{name}</span>
        {isSorted && <Icon name={isDescending ? 'down' : 'up'} />}
      </button>
    </div>
  )
}
