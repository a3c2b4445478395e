import { defaultRangeExtractor, useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import { useEffect, useLayoutEffect, useRef } from 'react'
import { settings } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import type { BoardSession } from './boardSession.ts'
import { CardTile } from './CardTile.tsx'
import { drag } from './drag.ts'
import { dragging } from './loadDragging.ts'

export const estimatedHeight = { comfortable: 78, compact: 38 }
export const gap = 8

interface ListProps {
  session: BoardSession
  columnId: string
  name: string
  /** The key of the lane that the list is in. */
  lane?: string
  found: readonly string[]
  /** The number of cards, including cards that have not been read yet. */
  count: number
  /** The element in which cards can be dropped. */
  area: Ref<HTMLElement>
  scroller: Ref<HTMLDivElement>
  /** The distance of the list from the start of the scroller. */
  startPx?: number
}

/** The cards of a column, or of a column in a lane. Renders only the visible cards. */
export function CardList(props: ListProps) {
  const { session, columnId, lane, name, found, count, scroller, startPx = 0 } = props
  const list = useRef<HTMLUListElement>(null)
  const kept = useStore(session.cursor.state, () => session.cursor.inColumn(columnId))
  const wanted = useStore(session.cursor.state, state => (state.columnId === columnId ? state.wanted : undefined))
  const current = kept === undefined ? -1 : found.indexOf(kept)
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimatedHeight[settings.get().density],
    getItemKey: at => found[at] ?? `unread ${at}`,
    overscan: lane === undefined ? 6 : 2,
    gap,
    paddingStart: gap,
    paddingEnd: gap,
    scrollMargin: startPx,
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
  }, [wanted, found])
  useLayoutEffect(() => session.cursor.restoreFocus())
  useRemeasureOnDensity(virtualizer, list)
  useDrop(props, list, virtualizer)
  return (
    <>
      <ul ref={list} style={{ height: virtualizer.getTotalSize() }} aria-label={name}>
        {items.map(({ key, index, start }) => (
          <li
            key={key}
            data-index={index}
            ref={virtualizer.measureElement}
            style={{ transform: `translateY(${start - startPx}px)` }}
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
      <DropLine columnId={columnId} lane={lane} startPx={startPx} virtualizer={virtualizer} />
    </>
  )
}

export const includeCurrent = (indexes: number[], current: number, count: number): number[] =>
  current < 0 || current >= count || indexes.includes(current) ? indexes : [...indexes, current].sort((a, b) => a - b)

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

function useDrop(props: ListProps, list: Ref<HTMLUListElement>, virtualizer: Lists): void {
  const { columnId, lane, area, scroller } = props
  const latest = useRef(props)
  latest.current = props
  const loaded = useStore(dragging)
  useEffect(() => {
    if (!loaded) return
    return loaded.dropColumn({
      columnId,
      lane,
      element: area.current!,
      scroller: scroller.current!,
      placeAt: y => {
        const { found, startPx = 0 } = latest.current
        const at = y - list.current!.getBoundingClientRect().top + startPx
        const below = virtualizer.getVirtualItems().find(({ start, size }) => start + size / 2 > at)
        return Math.min(below?.index ?? found.length, found.length)
      },
    })
  }, [columnId, lane, virtualizer, loaded])
}

interface LineProps {
  columnId: string
  lane: string | undefined
  startPx: number
  virtualizer: Lists
}

/** Draws a line where the dragged cards would be dropped. */
function DropLine({ columnId, lane, startPx, virtualizer }: LineProps) {
  const at = useStore(drag, now =>
    now?.over?.columnId === columnId && now.over.lane === lane ? now.over.at : undefined,
  )
  if (at === undefined) return null
  const item = virtualizer.getVirtualItems().find(({ index }) => index === at)
  const top = (item ? item.start - startPx : virtualizer.getTotalSize()) - gap / 2 - 1
  return <div className="drop-line" style={{ transform: `translateY(${top}px)` }} />
}
