import type { RefObject } from 'react'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { keymapOf } from '../../../src/boardModel/keymap.ts'
import { shownKeys } from '../../../src/boardModel/actionMeanings.ts'
import { navigate } from '../app/router.ts'
import { shortcuts } from '../app/settings.ts'
import { Menu, type MenuItem } from '../ui/Menu.tsx'
import { boardDialog, canChange, cancel, copy, linkOf, moveWithin, openCard, run } from './actions.ts'
import { removeCards } from './changeCards.ts'
import type { BoardSession } from './boardSession.ts'

/** Returns the first key sequence of an action in display form. */
function keysOf(action: ShortcutAction): string | undefined {
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

function itemsOf(session: BoardSession, card: Card): MenuItem[] {
  const cards = [card]
  const { projectId, id: cardId } = card
  const reading: MenuItem[] = [
    { label: 'Open', run: () => openCard(session, cardId), keys: keysOf('open') },
    { label: 'Open on a separate page', run: () => navigate({ name: 'card', projectId, cardId }) },
    { label: 'Copy link', run: () => copy(linkOf(card)) },
  ]
  if (!canChange(projectId)) return reading
  return [
    ...reading,
    {
      label: 'Move to…',
      run: () => boardDialog.set({ kind: 'moveTo', cards }),
      keys: keysOf('moveTo'),
      separator: true,
    },
    { label: 'Move up', run: () => moveWithin(session, card, -1), keys: keysOf('moveUp') },
    { label: 'Move down', run: () => moveWithin(session, card, 1), keys: keysOf('moveDown') },
    { label: 'Move to top', run: () => moveWithin(session, card, -Infinity) },
    card.hasActiveAgent
      ? { label: 'Cancel agent…', run: () => cancel(session, cards), keys: keysOf('cancel'), separator: true }
      : { label: 'Start agent', run: () => run(session, cards), keys: keysOf('run'), separator: true },
    { label: 'Agent…', run: () => boardDialog.set({ kind: 'agent', cards }), keys: keysOf('agent') },
    { label: 'Labels…', run: () => boardDialog.set({ kind: 'labels', cards }), keys: keysOf('label') },
    { label: 'Archive', run: () => removeCards(session, 'archive', cards), keys: keysOf('archive'), separator: true },
    { label: 'Delete…', run: () => removeCards(session, 'delete', cards), keys: keysOf('delete'), isDanger: true },
  ]
}
