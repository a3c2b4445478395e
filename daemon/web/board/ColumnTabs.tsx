import { useEffect, useState, type RefObject } from 'react'
import { useStore } from '../app/store.ts'
import type { BoardSession } from './boardSession.ts'
import { countOf } from './ColumnHead.tsx'

/** The names of the columns above the one that a narrow window shows. */
export function ColumnTabs({ session, columns }: { session: BoardSession; columns: RefObject<HTMLDivElement | null> }) {
  const board = useStore(session.state, () => session.currentBoard())
  const [at, setAt] = useState(0)
  useEffect(() => {
    const element = columns.current!
    const onScroll = () => setAt(Math.round(element.scrollLeft / Math.max(1, element.clientWidth)))
    element.addEventListener('scroll', onScroll, { passive: true })
    return () => element.removeEventListener('scroll', onScroll)
  }, [columns])
  return (
    <nav className="column-tabs narrow-only" aria-label="Columns">
      {board.columns.map((column, index) => (
        <button
          key={column.id}
          type="button"
          aria-current={index === at ? 'true' : undefined}
          onClick={() => columns.current!.scrollTo({ left: index * columns.current!.clientWidth })}
        >
          {column.name} <span className="count">{countOf(column)}</span>
        </button>
      ))}
    </nav>
  )
}
