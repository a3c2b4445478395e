import { useEffect, useRef } from 'react'
import { Archive, CircleCheck, CircleDashed, CirclePlay } from 'lucide-react'
import type { ShownColumn } from '../../../src/boardModel/shownBoard.ts'
import { client } from '../app/session.ts'
import { confirm } from '../ui/confirm.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Menu, type MenuItem } from '../ui/Menu.tsx'
import { adding, boardDialog, canChange, moveColumn, toggleSelected } from './actions.ts'
import { columnDrag } from './drag.ts'
import { dragging } from './loadDragging.ts'
import { useStore } from '../app/store.ts'
import type { BoardSession } from './boardSession.ts'
import { tooltip } from '../ui/tooltip.ts'

const number = new Intl.NumberFormat()

/** `12`, `3/5` with a limit of 5, or `3/12` with a filter. */
export function countOf({ found, ids, total, wipLimit }: ShownColumn): string {
  const all = wipLimit === null ? number.format(total) : `${number.format(total)}/${number.format(wipLimit)}`
  return found.length === ids.length ? all : `${number.format(found.length)}${wipLimit === null ? '/' : ' of '}${all}`
}

/** Whether a column has as many cards as its limit, or more. Empty if it has fewer or no limit. */
export const limitState = ({ total, wipLimit }: ShownColumn): 'over' | 'full' | '' =>
  wipLimit === null || total < wipLimit ? '' : total === wipLimit ? 'full' : 'over'

/** Describes the card count and the limit. */
const limitOf = (column: ShownColumn): string | undefined =>
  column.wipLimit === null
    ? undefined
    : `${column.total} of at most ${column.wipLimit} cards${limitTexts[limitState(column)]}`
const limitTexts = { over: ': the column is over its limit', full: ': the column is full', '': '' }

/** The name of a column, its settings, its card count and its menu. It drags the column. */
export function ColumnHead({ session, column }: { session: BoardSession; column: ShownColumn }) {
  const head = useRef<HTMLElement>(null)
  const loaded = useStore(dragging)
  useEffect(() => loaded?.dragColumn(head.current!, session, column.id), [loaded, session, column.id])
  return (
    <header ref={head} className="column-head">
      <ColumnMark type={column.columnType} />
      <h2>{column.name}</h2>
      <span className={`count ${limitState(column)}`} {...tooltip(limitOf(column))}>
        {limitState(column) === 'over' && <Icon name="warning" />}
        {countOf(column)}
      </span>
      {column.columnType === 'active' && (
        <span className="hint" {...tooltip('Moving a card here starts its agent')}>
          starts agents
        </span>
      )}
      {column.pull && (
        <span
          className="hint"
          {...tooltip('Pulls the next ready card from the previous column automatically when there is capacity')}
        >
          pulls
        </span>
      )}
      <Menu label={`Actions for column ${column.name}`} items={() => itemsOf(session, column)} />
    </header>
  )
}

/** The class of a column before which another one would be dropped, and of the dragged one. */
export const useColumnDrag = (columnId: string): string =>
  useStore(columnDrag, now => (now?.columnId === columnId ? 'dragged' : now?.before === columnId ? 'drop-before' : ''))

const marks = { backlog: CircleDashed, active: CirclePlay, done: CircleCheck, archive: Archive }

/** The type of a column as an icon. Its settings name the type. */
export function ColumnMark({ type }: { type: ShownColumn['columnType'] }) {
  const Mark = marks[type]
  return <Mark className={`column-mark ${type}`} size={15} aria-hidden="true" />
}

function itemsOf(session: BoardSession, column: ShownColumn): MenuItem[] {
  const { projectId } = session
  const { id: columnId, name, total } = column
  const select = { label: 'Select or deselect all cards', run: () => toggleSelected(session, column.found) }
  if (!canChange(projectId)) return [select]
  const ids = session.currentBoard().columns.map(({ id }) => id)
  const at = ids.indexOf(columnId)
  return [
    { label: 'New card', run: () => adding.set(columnId) },
    select,
    { label: 'Column settings…', run: () => boardDialog.set({ kind: 'column', columnId }), separator: true },
    { label: 'Move column left', run: () => moveColumn(session, columnId, ids[at - 1]), isDisabled: at === 0 },
    {
      label: 'Move column right',
      run: () => moveColumn(session, columnId, ids[at + 2]),
      isDisabled: at === ids.length - 1,
    },
    {
      label: 'Delete all cards…',
      isDanger: true,
      isDisabled: total === 0,
      separator: true,
      run: () =>
        confirm({
          title: `Delete all cards in ${name}?`,
          text: `This deletes ${total} cards, including archived cards from this column, and stops their agents. You can restore the cards for 30 days.`,
          submit: 'Delete',
          typed: name,
          run: () => client.columns.clear({ projectId, columnId }),
        }),
    },
    {
      label: 'Delete column…',
      isDanger: true,
      run: () =>
        confirm({
          title: `Delete column ${name}?`,
          text: total === 0 ? 'The column has no cards.' : 'You can only delete an empty column. Move its cards first.',
          submit: 'Delete column',
          run: () => client.columns.delete({ projectId, columnId }),
        }),
    },
  ]
}
