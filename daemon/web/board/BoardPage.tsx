import { useEffect, useRef, useState } from 'react'
import { meanings, shownKeys } from '../../../src/boardModel/actionMeanings.ts'
import { keymapOf } from '../../../src/boardModel/keymap.ts'
import { sorts, type Sort } from '../../../src/boardModel/sort.ts'
import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { dismiss, showError } from '../app/messages.ts'
import { useProject } from '../app/projects.ts'
import { reasonOf } from '../app/reasons.ts'
import { hrefOf, navigate } from '../app/router.ts'
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

interface BoardProps {
  projectId: string
  boardId?: string
  cardId?: string
  filter?: string
  sort?: string
}

/** A project's board, with a card next to it. */
export const BoardPage = (props: BoardProps) => <ProjectBoard key={props.projectId} {...props} />

function ProjectBoard({ projectId, boardId, cardId, filter, sort }: BoardProps) {
  const [session] = useState(() => new BoardSession(projectId, boardId, filter, sortIn(sort)))
  const filterInput = useRef<HTMLInputElement>(null)
  const project = useProject(projectId)
  const board = useStore(session.state, ({ boards, boardId: id }) => boards?.find(each => each.id === id))
  useTitle([board?.name, project?.name].filter(Boolean).join(' · '))
  useEffect(() => session.start(), [session])
  useEffect(() => session.show(boardId), [session, boardId])
  useViewInAddress(session, { projectId, boardId, cardId, filter, sort })
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
      {cardId !== undefined && <CardPanel projectId={projectId} cardId={cardId} onClose={close} />}
      <OpenDialog session={session} />
    </div>
  )
}

const sortIn = (text: string | undefined): Sort => sorts.find(sort => sort === text) ?? 'board'

/** Keeps the filter and the order in the address, so that they survive a reload, a return from a card, and a shared link. */
function useViewInAddress(session: BoardSession, { cardId, filter = '', sort }: BoardProps): void {
  const text = useStore(session.state, state => state.filter)
  const order = useStore(session.state, state => state.sort)
  const shown = useStore(session.state, state => state.boardId)
  const written = useRef({ filter, sort: sortIn(sort) })
  useEffect(() => {
    const next = { filter, sort: sortIn(sort) }
    if (next.filter !== written.current.filter || next.sort !== written.current.sort)
      session.set(state => ({ ...state, ...next }))
  }, [session, filter, sort])
  useEffect(() => {
    written.current = { filter: text, sort: order }
    navigate(boardRoute(session, cardId), { replace: true })
  }, [text, order])
  useEffect(() => {
    if (shown !== undefined) lastViews.set(shown, { filter: text, sort: order === 'board' ? undefined : order })
  }, [shown, text, order])
}

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
    if (!(target as HTMLElement).classList?.contains('card-title')) session.cursor.release()
  }
  const onPress = ({ target }: Event) => {
    if (!(target as HTMLElement).closest?.('.card')) session.cursor.release()
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
