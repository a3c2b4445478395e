import type { ShortcutAction } from '../../../src/contract/settings.ts'
import { chosenCards, currentCard } from './board.ts'
import { onBoard } from './boardKeys.ts'
import { tabHeight, tabLines, tabWidth } from './cardText.ts'
import { ask, named } from './actions.ts'
import { say, updated, type Cmd, type Model, type Update } from './model.ts'
import { openedOf, tabs, type Opened } from './opened.ts'
import type { Card } from './cardCache.ts'
import { emptyField } from './textField.ts'

/** What an action does: what it does to cards is the same on the board and in an opened card. */
export function act(model: Model, action: ShortcutAction): Update {
  const cards = model.opened ? openedCard(model) : chosenCards(model)
  const [card] = cards
  switch (action) {
    case 'quit':
      return model.opened ? updated({ ...model, opened: undefined }) : updated(model, { type: 'quit' })
    case 'help':
      return updated({ ...model, dialog: { kind: 'help', field: emptyField, top: 0 } })
    case 'jump':
      return updated({ ...model, dialog: { kind: 'jump', field: emptyField } })
    case 'run':
      return each(model, cards, 'run')
    case 'cancel':
      return cancel(model, cards)
    case 'approve':
      return approve(model, cards)
    case 'archive':
      return cards.length > 0
        ? ask(model, cards, `archive ${named(cards)}`, { type: 'archive', cardIds: cards.map(({ id }) => id) })
        : updated(model)
    case 'edit':
      return card
        ? updated(model, { type: 'edit', cardId: (model.opened ? card : (currentCard(model) ?? card)).id })
        : updated(model)
    case 'send':
      return card
        ? updated({
            ...model,
            dialog: {
              kind: 'send',
              cardId: (model.opened ? card : (currentCard(model) ?? card)).id,
              field: emptyField,
            },
          })
        : updated(model)
    default:
      return model.opened ? onCard(model, model.opened, action) : onBoard(model, action)
  }
}

const openedCard = ({ opened, cache }: Model): Card[] => {
  const card = opened?.card ?? cache.cards.get(opened?.cardId ?? '')
  return card ? [card] : []
}

const each = (model: Model, cards: readonly Card[], type: 'run' | 'advance'): Update =>
  updated(
    { ...model, view: { ...model.view, selected: new Set() } },
    ...cards.map(({ id }): Cmd => ({ type, cardId: id })),
  )

function cancel(model: Model, cards: readonly Card[]): Update {
  const working = cards.filter(({ hasActiveAgent }) => hasActiveAgent)
  if (working.length === 0)
    return updated(
      say(
        model,
        cards.length === 1 ? `No agent is at work on card ${cards[0]!.id}.` : 'No agent is at work on these cards.',
      ),
    )
  const question =
    working.length === 1
      ? `Cancel the agent of card ${working[0]!.id}?`
      : `Cancel the agents of ${working.length} cards?`
  return updated({
    ...model,
    dialog: { kind: 'confirm', question, action: { type: 'cancel', cardIds: working.map(({ id }) => id) } },
  })
}

/** A card that waits is shown with what its agent asks; completed ones move on to their next step. */
function approve(model: Model, cards: readonly Card[]): Update {
  const waiting = cards.find(({ status }) => status === 'waiting')
  if (waiting) return asked(model, waiting)
  const completed = cards.filter(({ status }) => status === 'completed')
  if (completed.length > 0) return each(say(model, `Approved ${named(completed)}.`), completed, 'advance')
  return updated(
    say(
      model,
      cards.length === 1 ? `Card ${cards[0]!.id} waits for no approval.` : 'None of these cards waits for an approval.',
    ),
  )
}

/** The transcript, which shows what is asked, stands behind the question. */
function asked(model: Model, { id }: Card): Update {
  const isOpen = model.opened?.cardId === id
  const opened = isOpen ? { ...model.opened!, tab: 'transcript' as const, follows: true } : openedOf(id, 'transcript')
  return updated(
    { ...model, opened, dialog: { kind: 'approve', cardId: id, question: '', returns: !isOpen } },
    { type: 'question', cardId: id },
    ...(isOpen ? [] : [{ type: 'open' as const, cardId: id }]),
  )
}

function onCard(model: Model, opened: Opened, action: ShortcutAction): Update {
  const page = tabHeight(model)
  switch (action) {
    case 'back':
      return updated({ ...model, opened: undefined })
    case 'left':
      return turn(model, opened, -1)
    case 'right':
    case 'nextTab':
      return turn(model, opened, 1)
    case 'down':
      return scroll(model, opened, 1)
    case 'up':
      return scroll(model, opened, -1)
    case 'pageDown':
      return scroll(model, opened, page - 1)
    case 'pageUp':
      return scroll(model, opened, 1 - page)
    case 'top':
      return scroll(model, opened, -Infinity)
    case 'bottom':
      return scroll(model, opened, Infinity)
    default:
      return updated(model)
  }
}

function turn(model: Model, opened: Opened, step: number): Update {
  const tab = tabs[(tabs.indexOf(opened.tab) + step + tabs.length) % tabs.length]!
  return updated({ ...model, opened: { ...opened, tab } })
}

function scroll(model: Model, opened: Opened, by: number): Update {
  const end = lastTop(model, opened)
  const from = opened.tab === 'transcript' && opened.follows ? end : Math.min(opened.tops[opened.tab], end)
  const top = Math.max(0, Math.min(from + by, end))
  const now = {
    ...opened,
    tops: { ...opened.tops, [opened.tab]: top },
    follows: opened.tab === 'transcript' ? top === end : opened.follows,
  }
  const first = opened.messages[0]
  if (opened.tab !== 'transcript' || top > 0 || opened.older !== 'maybe' || !first)
    return updated({ ...model, opened: now })
  return updated(
    { ...model, opened: { ...now, older: 'reading' } },
    { type: 'older', cardId: opened.cardId, before: first.id },
  )
}

/** The first line that is seen when the last one is. */
export const lastTop = (model: Model, opened: Opened): number =>
  Math.max(0, tabLines(opened, model.settings, tabWidth(model)).length - tabHeight(model))

/** The first line that is seen. */
export function topOfTab(model: Model, opened: Opened): number {
  const end = lastTop(model, opened)
  return opened.tab === 'transcript' && opened.follows ? end : Math.min(opened.tops[opened.tab], end)
}
