import { useVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, type CSSProperties } from 'react'
import type { ShownColumn } from '../../../src/boardModel/shownBoard.ts'
import { settings } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import { adding } from './actions.ts'
import type { Lane } from './arrangement.ts'
import type { BoardSession } from './boardSession.ts'
import { CardList, estimatedHeight, gap } from './CardList.tsx'
import { ColumnHead, limitState, useColumnDrag } from './ColumnHead.tsx'
import { StartWarning } from './ColumnView.tsx'
import { ColumnTabs } from './ColumnTabs.tsx'
import { LaneHead } from './LaneHead.tsx'
import { QuickAdd } from './QuickAdd.tsx'

const headPx = 42

/** The columns of a board with a lane for each group of cards. Renders only the visible lanes. */
export function Lanes({ session }: { session: BoardSession }) {
  const { lanes } = useStore(session.state, () => session.arrangement())
  const { columns } = useStore(session.state, () => session.currentBoard())
  const collapsed = useStore(session.state, state => state.collapsed)
  const wanted = useStore(session.cursor.state, state => state.wanted)
  const density = useStore(settings, mine => mine.density)
  const scroller = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const isOpen = ({ key }: Lane) => !collapsed.has(key)
  const virtualizer = useVirtualizer({
    count: lanes.length,
    getScrollElement: () => scroller.current,
    estimateSize: at => {
      const count = isOpen(lanes[at]!) ? Math.max(...[...lanes[at]!.cells.values()].map(ids => ids.length)) : 0
      return headPx + (count === 0 ? 0 : count * (estimatedHeight[density] + gap) + gap)
    },
    getItemKey: at => lanes[at]!.key,
    overscan: 1,
    useFlushSync: false,
  })
  const wantedLane = wanted === undefined ? -1 : lanes.findIndex(({ ids }) => ids.includes(wanted))
  const isShown = virtualizer.getVirtualItems().some(({ index }) => index === wantedLane)
  useLayoutEffect(() => {
    if (wantedLane >= 0 && !isShown) virtualizer.scrollToIndex(wantedLane, { align: 'start' })
  }, [wanted, wantedLane])
  return (
    <>
      <ColumnTabs session={session} columns={scroller} />
      <div ref={scroller} className={`lanes ${density}`} style={{ '--columns': columns.length } as CSSProperties}>
        <div className="lane-columns lane-heads">
          {columns.map(column => (
            <LaneColumnHead key={column.id} session={session} column={column} />
          ))}
        </div>
        <div ref={list} className="lane-list" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ key, index, start }) => (
            <div
              key={key}
              className="lane"
              data-index={index}
              ref={virtualizer.measureElement}
              style={{ transform: `translateY(${start}px)` }}
            >
              <LaneHead session={session} lane={lanes[index]!} />
              {isOpen(lanes[index]!) && (
                <div className="lane-columns">
                  {columns.map(column => (
                    <LaneCell
                      key={column.id}
                      session={session}
                      column={column}
                      lane={lanes[index]!}
                      scroller={scroller}
                      startPx={(list.current?.offsetTop ?? headPx) + start + headPx}
                    />
                  ))}
                </div>
              )}
            </div>
          ))}
        </div>
        {lanes.length === 0 && <p className="loading">No results</p>}
      </div>
    </>
  )
}

function LaneColumnHead({ session, column }: { session: BoardSession; column: ShownColumn }) {
  const isAdding = useStore(adding, id => id === column.id)
  return (
    <div className={`column ${limitState(column)} ${useColumnDrag(column.id)}`}>
      <ColumnHead session={session} column={column} />
      <StartWarning columnId={column.id} />
      {isAdding && <QuickAdd session={session} column={column} />}
    </div>
  )
}

interface CellProps {
  session: BoardSession
  column: ShownColumn
  lane: Lane
  scroller: { current: HTMLDivElement | null }
  startPx: number
}

function LaneCell({ session, column: { id: columnId, name }, lane, scroller, startPx }: CellProps) {
  const area = useRef<HTMLDivElement>(null)
  const found = lane.cells.get(columnId) ?? []
  return (
    <div ref={area} className="column" data-column={columnId}>
      <CardList
        session={session}
        columnId={columnId}
        lane={lane.key}
        name={name}
        found={found}
        count={found.length}
        area={area}
        scroller={scroller}
        startPx={startPx}
      />
    </div>
  )
}
