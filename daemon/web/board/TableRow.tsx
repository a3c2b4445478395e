import { memo, useEffect, useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from 'react'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { isOverdue } from '../../../src/boardModel/plan.ts'
import { hrefOf } from '../app/router.ts'
import { useStore } from '../app/store.ts'
import { Fact } from '../ui/Fact.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Labels, Status } from '../ui/Status.tsx'
import { formatTime, Time, useNow } from '../ui/Time.tsx'
import { clickCard, editing, selectRange, toggleSelected, useCanChange } from './actions.ts'
import type { BoardSession } from './boardSession.ts'
import { CardMenu } from './CardMenu.tsx'
import { ColumnMark } from './ColumnHead.tsx'
import { PriorityMark } from './PriorityMark.tsx'
import { CellEditor, editedCell, type EditedField } from './CellEditor.tsx'
import { TilePeople } from './TilePlan.tsx'
import { TileTitle } from './TileTitle.tsx'

const isTouch = matchMedia('(hover: none)').matches

interface RowProps {
  session: BoardSession
  cardId: string
  columnId: string
  /** The number of the row, from 1. */
  at: number
  /** The Tab key moves the focus to it in the table. */
  isCurrent: boolean
}

/** A card in the table. It renders again only when the card changes. */
export const TableRow = memo(function TableRow({ session, cardId, columnId, at, isCurrent }: RowProps) {
  const card = useStore(session.state, ({ cache }) => cache.cards.get(cardId))
  const isSelected = useStore(session.state, ({ selected }) => selected.has(cardId))
  const isWanted = useStore(session.cursor.state, ({ wanted }) => wanted === cardId)
  const isEdited = useStore(editing, id => id === cardId)
  // A menu in each row would slow down scrolling.
  const [hasMenu, setMenu] = useState(isTouch)
  const row = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (!isWanted || row.current!.contains(document.activeElement)) return
    const cell = row.current!.querySelector<HTMLElement>(`[data-cell='${session.cell}']`)
    const target = cell?.checkVisibility() ? cell : row.current!.querySelector<HTMLElement>('.card-title')
    target?.focus({ preventScroll: true })
  }, [isWanted, isEdited])
  useEffect(() => () => editedCell.update(cell => (cell?.cardId === cardId ? undefined : cell)), [cardId])
  if (!card) return null
  const select = (isRange: boolean) =>
    isRange ? selectRange(session, columnId, cardId) : toggleSelected(session, [cardId])
  return (
    <div
      ref={row}
      role="row"
      aria-rowindex={at}
      aria-selected={isSelected}
      className={`table-row ${card.unread ? 'unread' : ''}`}
      onClick={event => clickCard(session, columnId, cardId, event)}
      onPointerEnter={() => setMenu(true)}
      onFocus={({ target }) => {
        if (target.dataset.cell === undefined) return
        session.cell = target.dataset.cell
        session.cursor.onFocus(columnId, cardId)
      }}
    >
      <div role="gridcell" data-field="select">
        <input
          type="checkbox"
          tabIndex={-1}
          data-cell="select"
          aria-label={`Select card ${cardId}`}
          checked={isSelected}
          onChange={({ nativeEvent }) => select((nativeEvent as PointerEvent).shiftKey === true)}
        />
      </div>
      <div role="gridcell" data-field="number" className="dim">
        {cardId}
      </div>
      <div role="gridcell" data-field="title">
        {isEdited ? (
          <TileTitle session={session} card={card} />
        ) : (
          <a
            className="card-title"
            data-cell="title"
            href={hrefOf({ name: 'card', projectId: session.projectId, cardId })}
            tabIndex={isCurrent ? 0 : -1}
            draggable={false}
          >
            {card.title}
          </a>
        )}
        {(isCurrent || hasMenu) && <CardMenu session={session} card={card} isCurrent={isCurrent} tile={row} />}
      </div>
      <Cells session={session} card={card} columnId={columnId} row={row} />
      <div role="gridcell" data-field="changed" className="dim">
        <Time at={card.updatedAt} />
      </div>
    </div>
  )
})

interface CellsProps {
  session: BoardSession
  card: Card
  columnId: string
  row: RefObject<HTMLDivElement | null>
}

/** The properties of a card. All but the status can be edited in place. */
function Cells({ session, card, columnId, row }: CellsProps) {
  const column = useStore(session.state, ({ cache }) => cache.columns.find(({ id }) => id === columnId))
  const activeAgent = useStore(session.agentActivities.state, agents => agents.get(card.id)?.agent)
  const open = useStore(editedCell, cell => (cell?.cardId === card.id ? cell.field : undefined))
  const mayChange = useCanChange(session.projectId)
  const close = (field: EditedField) => {
    editedCell.set(undefined)
    setTimeout(() => {
      if (document.activeElement === document.body)
        row.current?.querySelector<HTMLElement>(`[data-cell='${field}']`)?.focus()
    })
  }
  const cell = (field: EditedField, name: string, value: ReactNode) => (
    <div role="gridcell" data-field={field}>
      {open === field ? (
        <CellEditor session={session} card={card} columnId={columnId} field={field} onClose={() => close(field)} />
      ) : (
        <CellValue
          field={field}
          name={name}
          mayChange={mayChange}
          onOpen={() => editedCell.set({ cardId: card.id, field })}
        >
          {value}
        </CellValue>
      )}
    </div>
  )
  const agent = activeAgent ?? card.agent
  return (
    <>
      {cell(
        'column',
        'Column',
        column && (
          <>
            <ColumnMark type={column.columnType} />
            <span>{column.name}</span>
          </>
        ),
      )}
      <div role="gridcell" data-field="status">
        {card.status !== 'idle' && <Status status={card.status} />}
        {card.blocked && (
          <Fact name="blocked by other cards">
            <Icon name="lock" />
          </Fact>
        )}
      </div>
      {cell('priority', 'Priority', <PriorityMark priority={card.priority} />)}
      {cell('assignees', 'Assignees', <TilePeople card={card} />)}
      {cell('labels', 'Labels', <Labels labels={card.labels} />)}
      {cell('due', 'Due date', card.dueAt !== null && <Due card={card} dueAt={card.dueAt} type={column?.columnType} />)}
      {cell(
        'agent',
        'Agent',
        agent && (
          <>
            <Icon name="agent" />
            <span>{agent}</span>
          </>
        ),
      )}
    </>
  )
}

function Due({ card, dueAt, type }: { card: Card; dueAt: string; type: string | undefined }) {
  const isLate = isOverdue(card, type, useNow())
  return (
    <span className={`fact ${isLate ? 'late' : ''}`}>
      {isLate && <Icon name="warning" />}
      <time dateTime={dueAt}>{formatTime(dueAt, 'shortDay')}</time>
      {isLate && <span className="visually-hidden">, overdue</span>}
    </span>
  )
}

interface CellProps {
  field: EditedField
  name: string
  mayChange: boolean
  onOpen: () => void
  children: ReactNode
}

/** A value that becomes its picker when it is clicked. A table has hundreds of cells, so the picker is created then. */
const CellValue = ({ field, name, mayChange, onOpen, children }: CellProps) => (
  <button type="button" className="cell-value" data-cell={field} tabIndex={-1} disabled={!mayChange} onClick={onOpen}>
    <span className="visually-hidden">{name}: </span>
    {children || <span className="visually-hidden">none</span>}
  </button>
)
