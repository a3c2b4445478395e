import { keymapOf, bindingOf } from '../../../src/boardModel/keymap.ts'
import { sortNames, sorts } from '../../../src/boardModel/sort.ts'
import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { layers } from '../app/keptFocus.ts'
import { browserKeys, keyName } from '../app/keyName.ts'
import { announce } from '../app/messages.ts'
import { navigate } from '../app/router.ts'
import { shortcuts } from '../app/settings.ts'
import { palette } from '../palette/commands.ts'
import { actionOf, boardRoute, toggleSelected } from './actions.ts'
import type { BoardSession } from './boardSession.ts'

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    /^(INPUT|TEXTAREA)$/.test(target.tagName) ||
    target.closest(`${layers},.card-panel`) !== null)

/** Hears the keys of the board. @returns ends it */
export function hearKeys(session: BoardSession, { filter }: { filter: () => void }): () => void {
  let pressed: string[] = []
  const onKey = (event: KeyboardEvent) => {
    if (event.metaKey || event.defaultPrevented || isTyping(event.target) || event.key === 'Shift') return
    const keymap = keymapOf(shortcuts.get())
    const name = keyName(event)
    if (browserKeys.has(name)) return
    let binding = bindingOf(keymap, [...pressed, name])
    if (binding === undefined && pressed.length > 0) binding = bindingOf(keymap, [name])
    pressed = binding === 'more' ? [...pressed, name] : []
    if (binding === undefined) return
    // Enter presses a button or link, and Tab moves the focus, as in other pages.
    if (binding === 'nextTab' || (binding === 'open' && !isCard(event.target))) return
    if (binding === 'more' || runShortcut(session, binding, filter)) event.preventDefault()
  }
  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}

const isCard = (target: EventTarget | null): boolean =>
  target === document.body || (target instanceof HTMLElement && target.classList.contains('card-title'))

const page = 8

function runShortcut(session: BoardSession, action: ShortcutAction, filter: () => void): boolean {
  const { columns } = session.currentBoard()
  const at = Math.max(
    0,
    columns.findIndex(({ id }) => id === session.cursor.columnId),
  )
  const column = columns[at]
  if (!column) return false
  const cardId = session.cursor.columnId === undefined ? undefined : session.cursor.cardId
  const found = session.cardsFrom(column.id)
  const row = cardId === undefined ? -1 : found.indexOf(cardId)
  const step = { down: 1, up: -1, pageDown: page, pageUp: -page, top: -Infinity, bottom: Infinity }[action as string]
  if (step !== undefined) {
    const to = found[Math.max(0, Math.min(found.length - 1, row + step))]
    if (to !== undefined) session.cursor.focusCard(to)
    return true
  }
  switch (action) {
    case 'left':
    case 'right': {
      if (session.state.get().isTable) return focusCell(action === 'left' ? -1 : 1)
      const next = columns[at + (action === 'left' ? -1 : session.cursor.columnId === undefined ? 0 : 1)]
      if (next) session.cursor.enterColumn(next.id)
      return true
    }
    case 'select':
      if (cardId === undefined) return false
      toggleSelected(session, [cardId])
      if (found[row + 1] !== undefined) session.cursor.focusCard(found[row + 1]!)
      return true
    case 'selectAll':
      toggleSelected(session, found)
      return true
    case 'filter':
      filter()
      return true
    case 'sort':
      session.set(state => ({
        ...state,
        sort: sorts[(sorts.indexOf(state.sort) + 1) % sorts.length]!,
        isReversed: false,
      }))
      announce(`Cards ${sortNames[session.state.get().sort]}`)
      return true
    case 'jump':
    case 'project':
      palette.set({ isOpen: true })
      return true
    case 'back':
    case 'quit':
      return stepBack(session)
    default: {
      const run = actionOf(session, action)
      run?.()
      return run !== undefined
    }
  }
}

/** Moves the focus within a row of the table. */
function focusCell(step: number): boolean {
  const current = document.activeElement!
  const cells = [...(current.closest('[role=row]')?.querySelectorAll<HTMLElement>('[data-cell]') ?? [])]
  const shown = cells.filter(cell => cell.checkVisibility())
  const next = shown[shown.indexOf(current as HTMLElement) + step]
  next?.focus()
  return next !== undefined
}

/** Clears the selection, then the filter, then closes the card. */
function stepBack(session: BoardSession): boolean {
  const { selected, filter } = session.state.get()
  if (selected.size > 0) session.set(state => ({ ...state, selected: new Set() }))
  else if (filter !== '') session.set(state => ({ ...state, filter: '' }))
  else if (/\/beside\//.test(location.hash)) navigate(boardRoute(session))
  else return false
  return true
}
