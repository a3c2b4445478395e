import type { RefObject } from 'react'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { keymapOf } from '../../../src/boardModel/keymap.ts'
import { shownKeys } from '../../../src/boardModel/actionMeanings.ts'
import { navigate } from '../app/router.ts'
import { shortcuts } from '../app/settings.ts'
import { Menu, type MenuItem } from '../ui/Menu.tsx'
import {
  boardDialog,
  canChange,
  cancel,
  chosenCards,
  copy,
  editTitle,
  linkOf,
  moveWithin,
  openCard,
  run,
  toggleSelected,
} from './actions.ts'
import { removeCards } from './changeCards.ts'
import type { BoardSession } from './boardSession.ts'

/** Returns the first key sequence of an action in display form. */
export function keysOf(action: ShortcutAction): string | undefined {
  const keys = keymapOf(shortcuts.get()).keysOf[action][0]
  return keys === undefined ? undefined : shownKeys(keys)
}

interface CardMenuProps {
  session: BoardSession
  card: Card
  isCurrent: boolean
  /** The card on the board. A right click on it opens the menu. */
  tile: RefObject<HTMLElement | null>
}

/** The menu of a card's actions. */
export const CardMenu = ({ session, card, isCurrent, tile }: CardMenuProps) => (
  <Menu
    label={`Actions for ${card.title}`}
    items={() => itemsOf(session, card)}
    tabIndex={isCurrent ? 0 : -1}
    area={tile}
  />
)

/** The actions for the card, or for all selected cards if it is one of them. */
function itemsOf(session: BoardSession, card: Card): MenuItem[] {
  const chosen = chosenCards(session)
  const cards = session.state.get().selected.has(card.id) ? chosen : [card]
  const mayChange = canChange(session.projectId)
  if (cards.length > 1) return mayChange ? changingItems(session, cards) : []
  const { projectId, id: cardId } = card
  const reading: MenuItem[] = [
    { label: 'Open', run: () => openCard(session, cardId), keys: keysOf('open') },
    { label: 'Open on a separate page', run: () => navigate({ name: 'card', projectId, cardId }) },
    { label: 'Copy link', run: () => copy(linkOf(card)) },
    { label: 'Copy ID', run: () => copy(cardId), keys: keysOf('copyId') },
    { label: 'Select', run: () => toggleSelected(session, [cardId]), keys: keysOf('select') },
  ]
  if (!mayChange) return reading
  return [
    ...reading,
    { label: 'Edit title', run: () => editTitle(session, cardId), keys: keysOf('edit'), separator: true },
    { label: 'Move up', run: () => moveWithin(session, card, -1), keys: keysOf('moveUp') },
    { label: 'Move down', run: () => moveWithin(session, card, 1), keys: keysOf('moveDown') },
    { label: 'Move to top', run: () => moveWithin(session, card, -Infinity) },
    ...changingItems(session, cards),
  ]
}

/** The actions that change one card or several. */
function changingItems(session: BoardSession, cards: readonly Card[]): MenuItem[] {
  const dialog = (kind: 'moveTo' | 'plan' | 'labels' | 'agent') => () => boardDialog.set({ kind, cards })
  return [
    { label: 'Move to…', run: dialog('moveTo'), keys: keysOf('moveTo') },
    { label: 'Plan…', run: dialog('plan'), keys: keysOf('plan'), separator: true },
    { label: 'Labels…', run: dialog('labels'), keys: keysOf('label') },
    { label: 'Agent…', run: dialog('agent'), keys: keysOf('agent') },
    cards.some(({ hasActiveAgent }) => hasActiveAgent)
      ? { label: 'Cancel agent…', run: () => cancel(session, cards), keys: keysOf('cancel'), separator: true }
      : { label: 'Start agent', run: () => run(session, cards), keys: keysOf('run'), separator: true },
    { label: 'Archive', run: () => removeCards(session, 'archive', cards), keys: keysOf('archive'), separator: true },
    { label: 'Delete…', run: () => removeCards(session, 'delete', cards), keys: keysOf('delete'), isDanger: true },
  ]
}
