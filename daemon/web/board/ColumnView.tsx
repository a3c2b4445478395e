import { memo, useRef } from 'react'
import type { ShownColumn } from '../../../src/boardModel/shownBoard.ts'
import { useStore } from '../app/store.ts'
import type { BoardSession } from './boardSession.ts'
import { CardList } from './CardList.tsx'
import { ColumnHead, limitState, useColumnDrag } from './ColumnHead.tsx'
import { drag, startsIn } from './drag.ts'
import { QuickAdd } from './QuickAdd.tsx'

/** A column with its cards. */
export const ColumnView = memo(function ColumnView({ session, columnId }: { session: BoardSession; columnId: string }) {
  const column = useStore(session.state, () => session.column(columnId))
  const root = useRef<HTMLElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const dragged = useColumnDrag(columnId)
  if (!column) return null
  const count = countRows(column)
  return (
    <section
      ref={root}
      className={`column ${limitState(column)} ${column.total === 0 ? 'vacant' : ''} ${dragged}`}
      data-column={columnId}
      aria-label={`${column.name}, ${column.total} cards${limitState(column) === 'over' ? ', over its limit' : ''}`}
    >
      <ColumnHead session={session} column={column} />
      <StartWarning columnId={columnId} />
      <div ref={scroller} className="column-cards">
        <CardList
          session={session}
          columnId={columnId}
          name={column.name}
          found={column.found}
          count={count}
          area={root}
          scroller={scroller}
        />
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

/** Warns before cards are dropped that this starts agents. */
export function StartWarning({ columnId }: { columnId: string }) {
  const now = useStore(drag)
  const count = now ? startsIn(now, columnId) : 0
  if (count === 0) return null
  return (
    <p className="starting">{count === 1 ? 'Drop here to start the agent' : `Drop here to start ${count} agents`}</p>
  )
}
