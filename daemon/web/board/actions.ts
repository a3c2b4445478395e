import type { MouseEvent } from 'react'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { goesOn, startIn } from '../../../src/client/startCard.ts'
import { cardRange } from '../../../src/boardModel/selection.ts'
import type { Sort } from '../../../src/boardModel/sort.ts'
import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { announce, showError, showMessage } from '../app/messages.ts'
import { projects, useProject, type Project } from '../app/projects.ts'
import { hrefOf, navigate, type Route } from '../app/router.ts'
import { client } from '../app/session.ts'
import { changeSettings, settings } from '../app/settings.ts'
import { Store } from '../app/store.ts'
import { confirm } from '../ui/confirm.tsx'
import { formatView } from './boardView.ts'
import { moveBefore, moveToColumn, redo, removeCards, undo } from './changeCards.ts'
import type { BoardSession } from './boardSession.ts'

/** A dialog of the board's that is open. */
export type BoardDialog =
  | { kind: 'moveTo' | 'labels' | 'plan' | 'agent'; cards: readonly Card[] }
  | { kind: 'help' }
  | { kind: 'column'; columnId?: string }
  | { kind: 'board'; boardId?: string }
export const boardDialog = new Store<BoardDialog | undefined>(undefined)
/** The column in which a card is being added. */
export const adding = new Store<string | undefined>(undefined)
/** The card whose title is being edited on the board. */
export const editing = new Store<string | undefined>(undefined)

const isEditable = (project: Project | undefined): boolean => project !== undefined && project.role !== 'viewer'

/** Returns whether the person can change the board. Viewers see no change actions. */
export const canChange = (projectId: string): boolean => isEditable(projects.get()?.find(({ id }) => id === projectId))
export const useCanChange = (projectId: string): boolean => isEditable(useProject(projectId))

/** Returns the selected cards in board order, or the card under the cursor. */
export function chosenCards(session: BoardSession): Card[] {
  const { selected } = session.state.get()
  const board = session.currentBoard()
  const ids =
    selected.size > 0
      ? board.columns.flatMap(column => column.ids.filter(id => selected.has(id)))
      : [session.cursor.cardId]
  return ids.flatMap(id => (id === undefined ? [] : (board.cards.get(id) ?? [])))
}

/** Opens a card next to the board, or on a separate page in narrow windows. */
export function openCard(session: BoardSession, cardId: string, tab?: string): void {
  const { projectId } = session
  if (tab !== undefined || matchMedia('(max-width: 700px)').matches) navigate({ name: 'card', projectId, cardId, tab })
  else navigate(boardRoute(session, cardId))
}

/** The current address of the board, with a card next to it. */
export function boardRoute({ projectId, state }: BoardSession, cardId?: string, show?: string): Route {
  const now = state.get()
  return { name: 'board', projectId, boardId: now.boardId, cardId, show, ...formatView(now) }
}

/** Opens the form for the plan of several cards. The plan of a single card is on the card. */
function openPlan(session: BoardSession, cards: readonly Card[]): void {
  if (cards.length > 1) boardDialog.set({ kind: 'plan', cards })
  else openCard(session, cards[0]!.id)
}

/** Edits the title of a card on the board. */
export function editTitle({ projectId }: BoardSession, cardId: string | undefined): void {
  if (canChange(projectId)) editing.set(cardId)
}

/** Opens a card at a click on it, selects it with a modifier key, and edits its title at a double click. */
export function clickCard(session: BoardSession, columnId: string, cardId: string, event: MouseEvent): void {
  const target = event.target as HTMLElement
  // React also reports clicks on the card's menu, which is elsewhere in the document.
  if (!event.currentTarget.contains(target) || target.closest('button, input')) return
  const isToggle = event.ctrlKey || event.metaKey
  if (event.button !== 0 || (isToggle && target.closest('a'))) return
  event.preventDefault()
  if (event.shiftKey) selectRange(session, columnId, cardId)
  else if (isToggle) toggleSelected(session, [cardId])
  else if (event.detail === 2) {
    // The first click has opened the card.
    navigate(boardRoute(session), { replace: true })
    editTitle(session, cardId)
  } else {
    session.anchor = cardId
    openCard(session, cardId)
  }
}

/** Selects the cards from the one that the person opened or selected last, in the column or the table. */
export function selectRange(session: BoardSession, columnId: string, cardId: string): void {
  const range = cardRange(session.cardsFrom(columnId), session.anchor, cardId)
  if (range.length === 1) return toggleSelected(session, range)
  session.set(state => ({ ...state, selected: new Set([...state.selected, ...range]) }))
  announceSelected(session)
}

const announceSelected = (session: BoardSession): void => announce(`${session.state.get().selected.size} selected`)

/** Selects cards, or deselects them if all are selected. */
export function toggleSelected(session: BoardSession, ids: readonly string[]): void {
  session.anchor = ids.at(-1)
  session.set(state => {
    const selected = new Set(state.selected)
    const isAll = ids.every(id => selected.has(id))
    for (const id of ids)
      if (isAll) selected.delete(id)
      else selected.add(id)
    return { ...state, selected }
  })
  announceSelected(session)
}

/** Draws cards in one line each, or in several. */
export function toggleDensity(): void {
  const density = settings.get().density === 'compact' ? 'comfortable' : 'compact'
  void changeSettings({ density })
}

/** Shows the board as a table, or as columns. */
export const toggleTable = (session: BoardSession): void =>
  session.set(state => ({ ...state, isTable: !state.isTable }))

/** Sorts by a property, then in the reverse order, then in the order of the board. */
export const sortBy = (session: BoardSession, sort: Sort): void =>
  session.set(state =>
    state.sort !== sort || sort === 'board'
      ? { ...state, sort, isReversed: false }
      : { ...state, sort: state.isReversed ? 'board' : sort, isReversed: !state.isReversed },
  )

/** Moves a column before another one, or to the end. */
export async function moveColumn(session: BoardSession, columnId: string, before: string | undefined): Promise<void> {
  const ids = session.currentBoard().columns.map(({ id }) => id)
  const others = ids.filter(id => id !== columnId)
  const order = others.toSpliced(before === undefined ? others.length : others.indexOf(before), 0, columnId)
  if (before === columnId || order.join() === ids.join()) return
  await client.columns.reorder({ projectId: session.projectId, ids: order.map(Number) })
  announce(`Moved column ${session.column(columnId)?.name}`)
}

/** Moves the chosen cards to the neighbouring column. */
function moveToNeighbour(session: BoardSession, cards: readonly Card[], step: number): void {
  const { columns } = session.currentBoard()
  const at = columns.findIndex(({ ids }) => cards[0] !== undefined && ids.includes(cards[0].id))
  const target = columns[at + step]
  if (at >= 0 && target) moveToColumn(session, cards, target)
}

/** Moves a card by a place, or with `Infinity` to the top or the end. */
export function moveWithin(session: BoardSession, card: Card, step: number): void {
  const column = session.currentBoard().columns.find(({ ids }) => ids.includes(card.id))
  if (!column) return
  const here = new Set(column.found)
  const found = session.cardsFrom(column.id).filter(id => here.has(id))
  const at = found.indexOf(card.id)
  const to = Math.max(0, Math.min(found.length - 1, at + step))
  const next = column.found.indexOf(found[to]!)
  if (to !== at) moveBefore(session, [card], column, column.found[to < at ? next : next + 1])
}

/** Resumes the agent of a card after a confirmation. */
export const retry = (session: BoardSession, card: Card): void =>
  run(session, [card], `Retry card ${card.id}?`, 'Retry')

/** Starts or resumes agents, or restarts them with a new session. Asks for confirmation for more than one, or with a title. */
export function run(session: BoardSession, cards: readonly Card[], title?: string, submit = 'Start'): void {
  const idle = cards.filter(({ hasActiveAgent }) => !hasActiveAgent)
  const { columns } = session.state.get()
  const active = columns.filter(({ columnType }) => columnType === 'active')
  const start = async () => {
    for (const card of idle) {
      const column = active.find(({ id }) => id === card.columnId) ?? active[0]
      if (!column)
        throw new Error('This board has no active column. Create an active column, because agents work only there.')
      await startIn(client, card, column)
      const text = `The agent of card ${card.id} ${goesOn(card) ? 'resumes' : 'starts'}.`
      showMessage(text)
      announce(text)
      const { lastAgentAction } = await client.cards.get({ projectId: session.projectId, cardId: card.id })
      if (lastAgentAction?.type === 'not_started') showError(new Error(`Card ${card.id}: ${lastAgentAction.detail}`))
    }
  }
  if (idle.length === 0) return showMessage('The agent is already at work.')
  if (idle.length === 1 && title === undefined) return void start().catch(showError)
  confirm({
    title: title ?? `Start ${idle.length} agents?`,
    text: `${idle.length === 1 ? 'The agent starts' : 'The agents start'} immediately and can incur costs.`,
    submit,
    isDanger: false,
    run: start,
  })
}

/** Cancels the agents that are at work. */
export function cancel(session: BoardSession, cards: readonly Card[]): void {
  const active = cards.filter(({ hasActiveAgent }) => hasActiveAgent)
  if (active.length === 0) return showMessage('No agents are running on these cards.')
  confirm({
    title: active.length === 1 ? `Cancel the agent of card ${active[0]!.id}?` : `Cancel ${active.length} agents?`,
    text: 'Changed files remain.',
    submit: 'Cancel agent',
    run: () => Promise.all(active.map(({ id }) => client.agents.cancel({ projectId: session.projectId, cardId: id }))),
  })
}

/** Copies a text, and shows a message. */
export async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text)
  showMessage(`Copied ${text}`)
}

export const linkOf = ({ projectId, id }: Card): string =>
  new URL(hrefOf({ name: 'card', projectId, cardId: id }), location.href).href

/** The function that a shortcut's action calls. Undefined if the action does not apply to this board. */
export function actionOf(session: BoardSession, action: ShortcutAction): (() => void) | undefined {
  const cards = chosenCards(session)
  const [card] = cards
  const mayChange = canChange(session.projectId)
  const each = (run: () => void) => (card ? run : undefined)
  const change = (run: () => void) => (mayChange && card ? run : undefined)
  switch (action) {
    case 'moveLeft':
    case 'moveRight':
      return change(() => moveToNeighbour(session, cards, action === 'moveLeft' ? -1 : 1))
    case 'moveDown':
    case 'moveUp':
      return change(() => moveWithin(session, card!, action === 'moveDown' ? 1 : -1))
    case 'moveTo':
    case 'label':
    case 'agent':
      return change(() => boardDialog.set({ kind: action === 'label' ? 'labels' : action, cards }))
    case 'run':
      return change(() => run(session, cards))
    case 'cancel':
      return change(() => cancel(session, cards))
    case 'archive':
      return change(() => removeCards(session, 'archive', cards))
    case 'delete':
      return change(() => removeCards(session, 'delete', cards))
    case 'edit':
      return change(() => editTitle(session, session.cursor.cardId ?? card!.id))
    case 'plan':
      return change(() => openPlan(session, cards))
    case 'approve':
    case 'send':
      return change(() => openCard(session, card!.id, 'transcript'))
    case 'comment':
      return each(() => openCard(session, card!.id, 'comments'))
    case 'merge':
      return change(() => openCard(session, card!.id, 'changes'))
    case 'open':
    case 'preview':
    case 'browser':
      return each(() => openCard(session, card!.id))
    case 'copyId':
    case 'copyTitle':
      return each(() => void copy(action === 'copyId' ? card!.id : card!.title).catch(showError))
    case 'undo':
      return mayChange ? () => undo(session) : undefined
    case 'redo':
      return mayChange ? () => redo(session) : undefined
    case 'add':
      return mayChange ? () => adding.set(session.cursor.columnId ?? session.currentBoard().columns[0]?.id) : undefined
    case 'density':
      return toggleDensity
    case 'table':
      return () => toggleTable(session)
    case 'help':
      return () => boardDialog.set({ kind: 'help' })
    default:
      return undefined
  }
}
