import { defaultRangeExtractor, useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import { memo, useEffect, useLayoutEffect, useRef } from 'react'
import type { ShownColumn } from '../../../src/boardModel/shownBoard.ts'
import { settings } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import type { BoardSession } from './boardSession.ts'
import { CardTile } from './CardTile.tsx'
import { ColumnHead, limitState } from './ColumnHead.tsx'
import { drag, startsIn } from './drag.ts'
import { dragging } from './loadDragging.ts'
import { QuickAdd } from './QuickAdd.tsx'

const estimatedHeight = { comfortable: 78, compact: 38 }
const gap = 8

/** A column. Renders only the visible cards. */
export const ColumnView = memo(function ColumnView({ session, columnId }: { session: BoardSession; columnId: string }) {
  const column = useStore(session.state, () => session.column(columnId))
  const root = useRef<HTMLElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLUListElement>(null)
  const kept = useStore(session.cursor.state, ({ cards }) => cards[columnId])
  const wanted = useStore(session.cursor.state, state => (state.columnId === columnId ? state.wanted : undefined))
  const found = column?.found ?? []
  const current = kept === undefined ? 0 : Math.max(0, found.indexOf(kept))
  const count = column ? countRows(column) : 0
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimatedHeight[settings.get().density],
    getItemKey: at => found[at] ?? `unread ${at}`,
    overscan: 6,
    gap,
    paddingStart: gap,
    paddingEnd: gap,
    useFlushSync: false,
    // The focused card stays rendered when it is scrolled out of view.
    rangeExtractor: range => includeCurrent(defaultRangeExtractor(range), current, range.count),
  })
  const items = virtualizer.getVirtualItems()
  const last = items.at(-2)?.index ?? 0
  useEffect(() => session.readUpTo(columnId, last), [session, columnId, last])
  useLayoutEffect(() => {
    if (wanted !== undefined && found.includes(wanted))
      virtualizer.scrollToIndex(found.indexOf(wanted), { align: 'auto' })
  }, [wanted, column])
  useLayoutEffect(() => session.cursor.restoreFocus())
  useRemeasureOnDensity(virtualizer, list)
  useDrop(columnId, root, scroller, list, virtualizer, found)
  if (!column) return null
  return (
    <section
      ref={root}
      className={`column ${limitState(column)} ${column.total === 0 ? 'vacant' : ''}`}
      data-column={columnId}
      aria-label={`${column.name}, ${column.total} cards${limitState(column) === 'over' ? ', over its limit' : ''}`}
    >
      <ColumnHead session={session} column={column} />
      <StartWarning columnId={columnId} />
      <div ref={scroller} className="column-cards">
        <ul ref={list} style={{ height: virtualizer.getTotalSize() }} aria-label={column.name}>
          {items.map(({ key, index, start }) => (
            <li
              key={key}
              data-index={index}
              ref={virtualizer.measureElement}
              style={{ transform: `translateY(${start}px)` }}
              aria-setsize={count}
              aria-posinset={index + 1}
            >
              {found[index] === undefined ? (
                <div className="card unread-yet">Loading…</div>
              ) : (
                <CardTile session={session} columnId={columnId} cardId={found[index]} isCurrent={index === current} />
              )}
            </li>
          ))}
        </ul>
        <DropLine columnId={columnId} virtualizer={virtualizer} />
        {count === 0 && <p className="empty">{column.total === 0 ? invitations[column.columnType] : 'No results'}</p>}
      </div>
      <QuickAdd session={session} column={column} />
    </section>
  )
})

const invitations: Record<ShownColumn['columnType'], string> = {
  backlog: 'No cards. Add a card, or drop one here.',
  active: 'No cards. Drop a card here to start its agent.',
  done: 'No cards. Finished cards appear here.',
  archive: 'No cards',
}

/** The number of rows, including rows whose cards have not been read yet. */
const countRows = ({ ids, found, total, isWhole }: ShownColumn): number =>
  isWhole || found.length !== ids.length ? found.length : Math.max(total, found.length)

const includeCurrent = (indexes: number[], current: number, count: number): number[] =>
  current >= count || indexes.includes(current) ? indexes : [...indexes, current].sort((a, b) => a - b)

type Lists = Virtualizer<HTMLDivElement, Element>
type Ref<T> = { current: T | null }

/** Measures the cards again when the density setting changes. The column is not remounted and keeps typed text. */
function useRemeasureOnDensity(virtualizer: Lists, list: Ref<HTMLUListElement>): void {
  const density = useStore(settings, mine => mine.density)
  const measured = useRef(density)
  useLayoutEffect(() => {
    if (measured.current === density) return
    measured.current = density
    virtualizer.measure()
    for (const item of list.current?.children ?? []) virtualizer.measureElement(item)
  }, [density, virtualizer, list])
}

function useDrop(
  columnId: string,
  root: Ref<HTMLElement>,
  scroller: Ref<HTMLDivElement>,
  list: Ref<HTMLUListElement>,
  virtualizer: Lists,
  found: readonly string[],
): void {
  const length = useRef(0)
  length.current = found.length
  const isThere = root.current !== null
  const loaded = useStore(dragging)
  useEffect(() => {
    if (!root.current || !loaded) return
    return loaded.dropColumn(columnId, root.current, scroller.current!, y => {
      const at = y - list.current!.getBoundingClientRect().top
      const below = virtualizer.getVirtualItems().find(({ start, size }) => start + size / 2 > at)
      return Math.min(below?.index ?? length.current, length.current)
    })
  }, [columnId, virtualizer, isThere, loaded])
}

/** Draws a line where the dragged cards would be dropped. */
function DropLine({ columnId, virtualizer }: { columnId: string; virtualizer: Lists }) {
  const at = useStore(drag, now => (now?.over?.columnId === columnId ? now.over.at : undefined))
  if (at === undefined) return null
  const item = virtualizer.getVirtualItems().find(({ index }) => index === at)
  const top = (item?.start ?? virtualizer.getTotalSize()) - gap / 2 - 1
  return <div className="drop-line" style={{ transform: `translateY(${top}px)` }} />
}

/** Warns before cards are dropped that this starts agents. */
function StartWarning({ columnId }: { columnId: string }) {
  const now = useStore(drag)
  const count = now ? startsIn(now, columnId) : 0
  if (count === 0) return null
  return (
    <p className="starting">{count === 1 ? 'Drop here to start the agent' : `Drop here to start ${count} agents`}</p>
  )
}
