import { useEffect, useRef, useState } from 'react'
import { meanings, shownKeys } from '../../../src/boardModel/actionMeanings.ts'
import { keymapOf } from '../../../src/boardModel/keymap.ts'
import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { dismiss, showError } from '../app/messages.ts'
import { useProject } from '../app/projects.ts'
import { reasonOf } from '../app/reasons.ts'
import { hrefOf, mapView, navigate, type BoardView } from '../app/router.ts'
import { settings, shortcuts } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import { useCommands, type Command } from '../palette/commands.ts'
import { Button } from '../ui/Button.tsx'
import { lazyPart } from '../ui/lazyPart.tsx'
import { useTitle } from '../ui/Page.tsx'
import { actionOf, adding, boardDialog, boardRoute, editing, canChange, useCanChange } from './actions.ts'
import { changeMessage } from './changeCards.ts'
import { BoardHead } from './BoardHead.tsx'
import { BoardSession } from './boardSession.ts'
import { formatView, parseView } from './boardView.ts'
import { ColumnView } from './ColumnView.tsx'
import { ColumnTabs } from './ColumnTabs.tsx'
import { lastViews } from './lastViews.ts'
import { loadDragging } from './loadDragging.ts'
import { hearKeys } from './keys.ts'
import { SelectionBar } from './SelectionBar.tsx'

const BoardDialogs = lazyPart(() => import('./BoardDialogs.tsx'), 'BoardDialogs', { isDialog: true })
const CardPanel = lazyPart(() => import('../card/CardPanel.tsx'), 'CardPanel', {
  fallback: <p className="loading">Loading…</p>,
})

const TableView = lazyPart(() => import('./TableView.tsx'), 'TableView', {
  fallback: <p className="loading">Loading…</p>,
})

const Lanes = lazyPart(() => import('./Lanes.tsx'), 'Lanes', { fallback: <p className="loading">Loading…</p> })

interface BoardProps extends BoardView {
  projectId: string
  boardId?: string
  cardId?: string
  /** The filter of the card’s activity. */
  show?: string
}

/** A project's board, with a card next to it. */
export const BoardPage = (props: BoardProps) => <ProjectBoard key={props.projectId} {...props} />

function ProjectBoard(props: BoardProps) {
  const { projectId, boardId, cardId, show } = props
  const [session] = useState(() => new BoardSession(projectId, boardId, parseView(props)))
  const filterInput = useRef<HTMLInputElement>(null)
  const project = useProject(projectId)
  const board = useStore(session.state, ({ boards, boardId: id }) => boards?.find(each => each.id === id))
  useTitle([board?.name, project?.name].filter(Boolean).join(' · '))
  useEffect(() => session.start(), [session])
  useEffect(() => session.show(boardId, parseView(props)), [session, boardId])
  useViewInAddress(session, props)
  useEffect(() => void loadDragging().catch(showError), [])
  useEffect(() => hearKeys(session, { filter: () => filterInput.current?.focus() }), [session])
  useEffect(() => watchFocus(session), [session])
  useEffect(() => closeBoard, [])
  useCommands(() => commandsOf(session), [session])
  const close = () => {
    navigate(boardRoute(session))
    if (cardId !== undefined) session.cursor.focusCard(cardId)
  }
  return (
    <div className="board-page">
      <main className="board" id="main" tabIndex={-1}>
        <BoardHead session={session} filter={filterInput} name={project?.name ?? 'Board'} />
        <Columns session={session} />
        <SelectionBar session={session} />
      </main>
      {cardId !== undefined && (
        <CardPanel
          projectId={projectId}
          cardId={cardId}
          show={show}
          onPart={part => navigate(boardRoute(session, cardId, part.show), { replace: true })}
          onClose={close}
        />
      )}
      <OpenDialog session={session} />
    </div>
  )
}

/** Keeps the view in the address, so that it survives a reload, a return from a card, and a shared link. */
function useViewInAddress(session: BoardSession, { cardId, show, ...props }: BoardProps): void {
  const address = viewKey(formatView(parseView(props)))
  const shown = useStore(session.state, state => viewKey(formatView(state)))
  const boardId = useStore(session.state, state => state.boardId)
  const written = useRef(address)
  useEffect(() => {
    if (address !== written.current) session.set(state => ({ ...state, ...parseView(props) }))
  }, [session, address])
  useEffect(() => {
    written.current = shown
    navigate(boardRoute(session, cardId, show), { replace: true })
  }, [shown])
  useEffect(() => {
    if (boardId !== undefined) lastViews.set(boardId, formatView(session.state.get()))
  }, [boardId, shown])
}

const viewKey = (view: BoardView): string => JSON.stringify(mapView(name => view[name]))

/** Closes the new card, the dialog and the undo of the board that the person leaves. */
function closeBoard(): void {
  adding.set(undefined)
  editing.set(undefined)
  boardDialog.set(undefined)
  dismiss(changeMessage)
}

/** The columns side by side. A narrow window shows one column, with swiping and tabs above. */
function Columns({ session }: { session: BoardSession }) {
  const ids = useStore(session.state, ({ cache }) => idsOf(cache.columns))
  const mayChange = useCanChange(session.projectId)
  const error = useStore(session.state, state => state.error)
  const isRead = useStore(session.state, ({ boards }) => boards !== undefined)
  const isTable = useStore(session.state, state => state.isTable)
  const isGrouped = useStore(session.state, state => state.group !== undefined)
  const density = useStore(settings, mine => mine.density)
  const columns = useRef<HTMLDivElement>(null)
  if (error !== undefined)
    return (
      <div className="notice failure" role="alert">
        <p>{reasonOf(error)}</p>
        <a href={hrefOf({ name: 'home' })}>Go home</a>
      </div>
    )
  if (!isRead) return <p className="loading">Loading…</p>
  if (isTable) return <TableView session={session} />
  if (isGrouped) return <Lanes session={session} />
  return (
    <>
      <ColumnTabs session={session} columns={columns} />
      <div ref={columns} className={`columns ${density}`}>
        {ids.split(' ').map(id => id !== '' && <ColumnView key={id} session={session} columnId={id} />)}
        {mayChange && (
          <div className="new-column">
            <Button icon="add" onClick={() => boardDialog.set({ kind: 'column' })}>
              New column
            </Button>
          </div>
        )}
      </div>
    </>
  )
}

const idsOf = (columns: readonly { id: string }[]): string => columns.map(({ id }) => id).join(' ')

function OpenDialog({ session }: { session: BoardSession }) {
  const open = useStore(boardDialog)
  return open && <BoardDialogs session={session} open={open} />
}

/** Tracks whether a card has the focus, so that the focus is restored when the card renders again. */
function watchFocus(session: BoardSession): () => void {
  const onFocus = ({ target }: Event) => {
    if (!(target as HTMLElement).matches?.('.card-title, [data-cell]')) session.cursor.release()
  }
  const onPress = ({ target }: Event) => {
    if (!(target as HTMLElement).closest?.('.card, [role=row]')) session.cursor.release()
  }
  document.addEventListener('focusin', onFocus)
  document.addEventListener('pointerdown', onPress)
  return () => {
    document.removeEventListener('focusin', onFocus)
    document.removeEventListener('pointerdown', onPress)
  }
}

const unlisted: ReadonlySet<ShortcutAction> = new Set([
  'open',
  'moveUp',
  'moveDown',
  'preview',
  'browser',
  'copyBranch',
])

/** The palette commands of a board. */
function commandsOf(session: BoardSession): Command[] {
  const { keysOf } = keymapOf(shortcuts.get())
  const { projectId } = session
  const actions = (Object.keys(meanings) as ShortcutAction[]).flatMap((action): Command[] => {
    const run = unlisted.has(action) ? undefined : actionOf(session, action)
    if (!run) return []
    const label = `${meanings[action][0]!.toUpperCase()}${meanings[action].slice(1)}`
    const [keys] = keysOf[action]
    return [{ label, run, keys: keys === undefined ? undefined : shownKeys(keys) }]
  })
  const boards = (session.state.get().boards ?? []).map(({ id, name }) => ({
    label: name,
    aside: 'board',
    run: () => navigate({ name: 'board', projectId, boardId: id }),
  }))
  const columns = session.currentBoard().columns.map(({ id, name }) => ({
    label: name,
    aside: 'column',
    run: () => session.cursor.enterColumn(id),
  }))
  const making = [
    { label: 'New column', run: () => boardDialog.set({ kind: 'column' }) },
    { label: 'New board', run: () => boardDialog.set({ kind: 'board' }) },
  ]
  return [...actions, ...(canChange(projectId) ? making : []), ...boards, ...columns]
}
