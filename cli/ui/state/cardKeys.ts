import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import { chosenCards, currentCard } from './board.ts'
import { onBoard } from './boardKeys.ts'
import { tabHeight, tabLines, tabWidth } from './cardText.ts'
import type { UserCommand } from '../../context/userCommands.ts'
import { ask, confirm, named, runForEach } from './actions.ts'
import { withNotice, toUpdate, type Model, type Purpose, type Update } from './model.ts'
import { openedOf, tabs, type Opened } from './opened.ts'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { mergedWords } from '../../../src/boardModel/mergedWords.ts'
import { emptyField } from './textField.ts'

/** Handles an action that works on cards, on the board and in an opened card alike. */
export function runAction(model: Model, action: ShortcutAction): Update {
  const cards = model.opened ? openedCard(model) : chosenCards(model)
  const [card] = cards
  switch (action) {
    case 'quit':
      return model.opened ? toUpdate({ ...model, opened: undefined }) : toUpdate(model, { type: 'quit' })
    case 'help':
      return toUpdate({ ...model, dialog: { kind: 'help', field: emptyField, top: 0 } })
    case 'jump':
      return toUpdate(withPick(model, { type: 'go', hits: [] }), { type: 'projects' })
    case 'project':
      return toUpdate(withPick(model, { type: 'project', isFirst: false }), { type: 'projects' })
    case 'run':
      return each(model, cards, 'run')
    case 'cancel':
      return cancel(model, cards)
    case 'approve':
      return approve(model, cards)
    default:
      if (!cardActions.has(action)) return model.opened ? onCard(model, model.opened, action) : onBoard(model, action)
      return card
        ? onCards(model, action, cards, (model.opened ? card : (currentCard(model) ?? card)).id)
        : toUpdate(model)
  }
}

/** Actions on the selected cards, or on the one under the cursor. They do nothing without a card. */
const cardActions: ReadonlySet<ShortcutAction> = new Set([
  'moveTo',
  'agent',
  'label',
  'plan',
  'comment',
  'merge',
  'archive',
  'delete',
  'edit',
  'send',
  'browser',
  'copyId',
  'copyTitle',
  'copyBranch',
])

function onCards(model: Model, action: ShortcutAction, cards: readonly Card[], currentId: string): Update {
  const cardIds = cards.map(({ id }) => id)
  switch (action) {
    case 'moveTo':
      return toUpdate(withPick(model, { type: 'column', cardIds }))
    case 'agent':
      return toUpdate(withPick(model, { type: 'agent', cardIds }), { type: 'agents' })
    case 'label':
      return toUpdate(withPick(model, { type: 'label', cardIds, marks: {} }))
    case 'plan':
      return toUpdate(withPick(model, { type: 'plan', cardIds, people: [] }), { type: 'people' })
    case 'comment':
      return toUpdate({ ...model, dialog: { kind: 'comment', cardId: currentId, field: emptyField } })
    case 'merge':
      return mergeCards(model, cards)
    case 'archive':
      return ask(model, { type: 'archive', cardIds }, { what: `archive ${named(cards)}`, leaving: cards })
    case 'delete':
      return confirm(model, deleteQuestion(cards), { type: 'delete', cardIds })
    case 'edit':
      return toUpdate(withNotice(model, `Opening card ${currentId} in your editor. Ctrl-C cancels.`), {
        type: 'edit',
        cardId: currentId,
      })
    case 'send':
      return toUpdate(
        { ...model, dialog: { kind: 'send', cardId: currentId, field: emptyField, commands: [], at: 0 } },
        { type: 'slashCommands', cardId: currentId },
      )
    case 'browser':
      return toUpdate(model, { type: 'browse', cardId: currentId })
    case 'copyId':
      return toUpdate(model, { type: 'copy', text: cardIds.join(' ') })
    case 'copyTitle':
      return toUpdate(model, { type: 'copy', text: cards.map(({ title }) => title).join('\n') })
    default:
      return toUpdate(model, { type: 'copyBranch', cardId: currentId })
  }
}

/** Opens a list to pick from. */
export const withPick = (model: Model, purpose: Purpose): Model => ({
  ...model,
  dialog: { kind: 'pick', purpose, field: emptyField, at: 0 },
})

/** Asks about the cards that are not merged yet. */
function mergeCards(model: Model, cards: readonly Card[]): Update {
  const open = cards.filter(({ mergedAt }) => mergedAt === null)
  const [first] = cards
  if (open.length === 0 && first)
    return toUpdate(
      withNotice(
        model,
        cards.length === 1 ? `${mergedWords(first)}. There is nothing new to merge.` : 'All of these cards are merged.',
      ),
    )
  const cardIds = open.map(({ id }) => id)
  return toUpdate(
    { ...model, dialog: { kind: 'confirm', question: `Reading the branch of ${named(open)} ...` } },
    { type: 'branches', cardIds },
  )
}

function deleteQuestion(cards: readonly Card[]): string {
  const working = cards.filter(({ hasActiveAgent }) => hasActiveAgent).length
  const ends =
    working === 0
      ? ''
      : working === 1
        ? 'An agent is running and will be stopped. '
        : `${working} agents are running and will be stopped. `
  return cards.length === 1
    ? `${ends}Delete card ${cards[0]!.id}, ${cards[0]!.title}?`
    : `${ends}Delete ${cards.length} cards?`
}

/** Runs a user command with the card under the cursor, or the opened one. */
export function runUserCommand(model: Model, command: UserCommand): Update {
  const cards = model.opened ? openedCard(model) : chosenCards(model)
  const current = model.opened ? cards[0] : (currentCard(model) ?? cards[0])
  return toUpdate(model, { type: 'userCommand', command, cardId: current?.id, cardIds: cards.map(({ id }) => id) })
}

const openedCard = ({ opened, cache }: Model): Card[] => {
  const card = opened?.card ?? cache.cards.get(opened?.cardId ?? '')
  return card ? [card] : []
}

const each = (model: Model, cards: readonly Card[], type: 'run' | 'advance'): Update =>
  runForEach(
    model,
    cards.map(({ id }) => id),
    cardId => ({ type, cardId }),
  )

function cancel(model: Model, cards: readonly Card[]): Update {
  const working = cards.filter(({ hasActiveAgent }) => hasActiveAgent)
  if (working.length === 0)
    return toUpdate(
      withNotice(
        model,
        cards.length === 1 ? `No agent is running on card ${cards[0]!.id}.` : 'No agents are running on these cards.',
      ),
    )
  const question =
    working.length === 1
      ? `Cancel the agent of card ${working[0]!.id}?`
      : `Cancel the agents of ${working.length} cards?`
  return toUpdate({
    ...model,
    dialog: { kind: 'confirm', question, action: { type: 'cancel', cardIds: working.map(({ id }) => id) } },
  })
}

/** Opens the question of a waiting card, or of its monitor; moves completed cards to their next step. */
function approve(model: Model, cards: readonly Card[]): Update {
  const waiting = cards.find(
    ({ status, statusReason, monitorQuestions }) =>
      monitorQuestions > 0 || (status === 'waiting' && statusReason !== 'silent' && statusReason !== 'budget'),
  )
  if (waiting) return openQuestion(model, waiting)
  const completed = cards.filter(({ status }) => status === 'completed')
  if (completed.length > 0) return each(withNotice(model, `Approved ${named(completed)}.`), completed, 'advance')
  return toUpdate(
    withNotice(
      model,
      cards.length === 1
        ? `Card ${cards[0]!.id} is not waiting for approval.`
        : 'None of these cards is waiting for approval.',
    ),
  )
}

/** Opens the card's transcript behind the question. */
function openQuestion(model: Model, { id }: Card): Update {
  const isOpen = model.opened?.cardId === id
  const opened = isOpen ? { ...model.opened!, tab: 'transcript' as const, follows: true } : openedOf(id, 'transcript')
  return toUpdate(
    { ...model, opened, dialog: { kind: 'approve', cardId: id, lines: [], options: [], returns: !isOpen } },
    { type: 'question', cardId: id },
    ...(isOpen ? [] : [{ type: 'open' as const, cardId: id }]),
  )
}

function onCard(model: Model, opened: Opened, action: ShortcutAction): Update {
  const page = tabHeight(model)
  switch (action) {
    case 'back':
      return toUpdate({ ...model, opened: undefined })
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
      return toUpdate(model)
  }
}

function turn(model: Model, opened: Opened, step: number): Update {
  const tab = tabs[(tabs.indexOf(opened.tab) + step + tabs.length) % tabs.length]!
  return toUpdate({ ...model, opened: { ...opened, tab } })
}

/** Scrolls the open tab; at the top of the transcript, loads older messages. */
export function scroll(model: Model, opened: Opened, by: number): Update {
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
    return toUpdate({ ...model, opened: now })
  return toUpdate(
    { ...model, opened: { ...now, older: 'reading' } },
    { type: 'older', cardId: opened.cardId, before: first.id },
  )
}

/** The scroll position at the bottom. */
export const lastTop = (model: Model, opened: Opened): number =>
  Math.max(0, tabLines(opened, model.settings, tabWidth(model)).length - tabHeight(model))

/** The scroll position: the index of the first visible line. */
export function topOfTab(model: Model, opened: Opened): number {
  const end = lastTop(model, opened)
  return opened.tab === 'transcript' && opened.follows ? end : Math.min(opened.tops[opened.tab], end)
}
