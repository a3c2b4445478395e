import type { RefObject } from 'react'
import { formatFilter, parseFilter } from '../../../src/boardModel/boardFilter.ts'
import { groupings } from '../../../src/boardModel/group.ts'
import { sorts } from '../../../src/boardModel/sort.ts'
import { hrefOf, navigate } from '../app/router.ts'
import { useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { settings } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import { confirm } from '../ui/confirm.tsx'
import { lazyPart } from '../ui/lazyPart.tsx'
import { Menu, type MenuItem } from '../ui/Menu.tsx'
import { Segments } from '../ui/Segments.tsx'
import { boardDialog, canChange, sortBy, toggleDensity } from './actions.ts'
import { groupLabels } from './boardView.ts'
import { keysOf } from './CardMenu.tsx'
import { lastViews } from './lastViews.ts'
import type { Board, BoardSession } from './boardSession.ts'
import { FilterChips, sortLabels } from './FilterChips.tsx'

const FilterPicker = lazyPart(() => import('./FilterPicker.tsx'), 'FilterPicker', {
  fallback: <span className="select">Filter</span>,
})

interface HeadProps {
  session: BoardSession
  name: string
  filter: RefObject<HTMLInputElement | null>
}

/** The project's boards, and a filter for the cards of the one that is shown. */
export function BoardHead({ session, name, filter }: HeadProps) {
  const { projectId } = session
  const boards = useStore(session.state, state => state.boards)
  const shown = useStore(session.state, state => state.boardId)
  const text = useStore(session.state, state => state.filter)
  const { conditions, words } = parseFilter(text)
  const setWords = (next: string) =>
    session.set(state => ({ ...state, filter: formatFilter({ conditions, words: next }) }))
  const role = useProject(projectId)?.role
  return (
    <header className="board-head">
      <h1>{name}</h1>
      <nav className="board-tabs" aria-label="Boards">
        {boards?.map(({ id, name: boardName }) => (
          <a
            key={id}
            href={hrefOf({ name: 'board', projectId, boardId: id, ...lastViews.get(id) })}
            aria-current={id === shown ? 'page' : undefined}
          >
            {boardName}
          </a>
        ))}
      </nav>
      {role !== undefined && role !== 'viewer' && (
        <Menu label="Board actions" items={() => itemsOf(session, boards ?? [], shown, role === 'admin')} />
      )}
      <div className="board-tools">
        <FilterPicker session={session} />
        <Menu label="Sort cards" icon="sort" items={() => sortItems(session)} />
        <Menu label="Group cards" icon="group" items={() => groupItems(session)} />
        <ViewSwitch session={session} />
        <input
          ref={filter}
          type="search"
          className="filter"
          aria-label="Filter cards"
          placeholder="Find cards"
          value={words}
          onChange={({ target }) => setWords(target.value)}
          onKeyDown={event => {
            if (event.key !== 'Escape' && event.key !== 'Enter') return
            if (event.key === 'Escape') setWords('')
            event.preventDefault()
            const first =
              session.cursor.cardId ?? session.currentBoard().columns.find(({ found }) => found.length > 0)?.found[0]
            if (first === undefined) event.currentTarget.blur()
            else session.cursor.focusCard(first)
          }}
        />
      </div>
      <FilterChips session={session} />
    </header>
  )
}

const sortItems = (session: BoardSession): MenuItem[] =>
  sorts.map(sort => ({
    label: sortLabels[sort],
    isOn: session.state.get().sort === sort,
    run: () => sortBy(session, sort),
  }))

const groupItems = (session: BoardSession): MenuItem[] =>
  [undefined, ...groupings].map(group => ({
    label: group ? groupLabels[group] : 'No groups',
    isOn: session.state.get().group === group,
    run: () => session.set(state => ({ ...state, group })),
  }))

/** The choice of the view: the board as columns or as a table. */
function ViewSwitch({ session }: { session: BoardSession }) {
  const isTable = useStore(session.state, state => state.isTable)
  const keys = keysOf('table')
  return (
    <Segments
      label="View"
      value={isTable ? 'table' : 'columns'}
      options={[
        { value: 'columns', text: 'Board', icon: 'columns', keys },
        { value: 'table', text: 'Table', icon: 'table', keys },
      ]}
      onChange={view => session.set(state => ({ ...state, isTable: view === 'table' }))}
    />
  )
}

function itemsOf(
  session: BoardSession,
  boards: readonly Board[],
  shown: string | undefined,
  mayDelete: boolean,
): MenuItem[] {
  const { projectId } = session
  const board = boards.find(({ id }) => id === shown)
  const making: MenuItem = { label: 'New board…', run: () => boardDialog.set({ kind: 'board' }) }
  const column: MenuItem = { label: 'New column…', run: () => boardDialog.set({ kind: 'column' }) }
  const density: MenuItem = {
    label: settings.get().density === 'compact' ? 'Several lines per card' : 'One line per card',
    run: toggleDensity,
    keys: 'z',
  }
  const help: MenuItem = { label: 'Keys', run: () => boardDialog.set({ kind: 'help' }), keys: '?' }
  if (!board || !canChange(projectId)) return [density, help]
  const ids = boards.map(({ id }) => id)
  const at = ids.indexOf(board.id)
  const shift = (by: number) => () =>
    client.boards.reorder({
      projectId,
      ids: ids
        .toSpliced(at, 1)
        .toSpliced(at + by, 0, board.id)
        .map(Number),
    })
  return [
    column,
    making,
    { label: 'Rename board…', run: () => boardDialog.set({ kind: 'board', boardId: board.id }) },
    { label: 'Move board left', run: shift(-1), isDisabled: at === 0 },
    { label: 'Move board right', run: shift(1), isDisabled: at === ids.length - 1 },
    density,
    {
      label: 'Mark all cards in the project as read',
      run: () => client.projects.markAllRead({ id: projectId }),
      separator: true,
    },
    help,
    ...(mayDelete && boards.length > 1 ? [deleteItem(projectId, board)] : []),
  ]
}

const deleteItem = (projectId: string, { id: boardId, name }: Board): MenuItem => ({
  label: 'Delete board…',
  isDanger: true,
  separator: true,
  run: () =>
    confirm({
      title: `Delete board ${name}?`,
      text: 'This permanently deletes the columns, the cards and their transcripts. Other boards remain.',
      submit: 'Delete board',
      typed: name,
      run: async () => {
        await client.boards.delete({ projectId, boardId })
        navigate({ name: 'board', projectId }, { replace: true })
      },
    }),
})
