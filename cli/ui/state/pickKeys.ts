import type { AgentChoice } from '../../../src/contract/agents/agentChoice.ts'
import { nearestWords } from '../../output/text.ts'
import type { Key } from '../terminal/keys.ts'
import { named, moveCards, runForEach } from './actions.ts'
import { boardOf } from './board.ts'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { runAction, runUserCommand, withPick } from './cardKeys.ts'
import { toBoard, toCard, toColumn, toProject } from './goTo.ts'
import { withNotice, toUpdate, type Model, type PickDialog, type Purpose, type Update } from './model.ts'
import type { PickItem } from './pickItem.ts'
import { pickItems, pickRows } from './pickItems.ts'
import { planCards } from './planItems.ts'
import { emptyField, textIn, typeInto } from './textField.ts'

const searchDebounceMs = 150

/** Handles a key in a pick list. */
export function updatePick(model: Model, dialog: PickDialog, key: Key): Update {
  const items = pickItems(model, dialog)
  const item = items[Math.min(dialog.at, items.length - 1)]
  const moveCursor = (at: number) =>
    toUpdate({ ...model, dialog: { ...dialog, at: Math.max(0, Math.min(at, items.length - 1)) } })
  switch (key.name) {
    case 'enter':
      return onEnter(model, dialog, item)
    case 'tab':
      if (!item) return toUpdate(model)
      return dialog.purpose.type === 'label'
        ? toggleLabel(model, dialog, dialog.purpose, item)
        : choosePicked(model, dialog, item)
    case 'down':
    case 'ctrl+n':
      return moveCursor(dialog.at + 1)
    case 'up':
    case 'ctrl+p':
      return moveCursor(dialog.at - 1)
    case 'pagedown':
      return moveCursor(dialog.at + pickRows(model.size))
    case 'pageup':
      return moveCursor(dialog.at - pickRows(model.size))
    default:
      return typeText(model, dialog, key)
  }
}

function typeText(model: Model, dialog: PickDialog, key: Key): Update {
  const field = typeInto(dialog.field, key)
  if (!field) return toUpdate(model)
  const { purpose } = dialog
  if (purpose.type !== 'go') return toUpdate({ ...model, dialog: { ...dialog, field, at: 0 } })
  const text = textIn(field)
  const hasTwoCharacters = /[\p{L}\p{N}].*[\p{L}\p{N}]/u.test(text)
  const isCardId = /^\s*#?\d+\s*$/.test(text)
  const searchAtMs = hasTwoCharacters && !isCardId ? model.nowMs + searchDebounceMs : undefined
  return toUpdate({ ...model, dialog: { ...dialog, field, at: 0, purpose: { ...purpose, searchAtMs, hits: [] } } })
}

/** Searches cards on the server, after the debounce. */
export function searchWhenDue(model: Model): Update {
  const { dialog } = model
  if (dialog?.kind !== 'pick' || dialog.purpose.type !== 'go') return toUpdate(model)
  const { searchAtMs } = dialog.purpose
  if (searchAtMs === undefined || searchAtMs > model.nowMs) return toUpdate(model)
  const purpose = { ...dialog.purpose, searchAtMs: undefined }
  return toUpdate({ ...model, dialog: { ...dialog, purpose } }, { type: 'search', text: textIn(dialog.field).trim() })
}

function onEnter(model: Model, dialog: PickDialog, item: PickItem | undefined): Update {
  const { purpose } = dialog
  const text = textIn(dialog.field).trim()
  if (purpose.type === 'go' && text === '' && dialog.at === 0) return toUpdate({ ...model, dialog: undefined })
  if (purpose.type === 'label') return applyLabels(model, purpose, item)
  if (item) return choosePicked(model, dialog, item)
  if (purpose.type !== 'go') return toUpdate(model)
  const names = [...boardOf(model).columns, ...model.boards, ...model.projects].map(({ name }) => name)
  const meant = nearestWords(text, names, 1)[0]
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  return toUpdate(
    withNotice({ ...model, dialog: undefined }, `There is no column, board or project "${text}".${hint}`, true),
  )
}

/** Performs the action of the chosen item. */
export function choosePicked(model: Model, dialog: PickDialog, { target }: PickItem): Update {
  const { purpose } = dialog
  const closed = { ...model, dialog: undefined }
  switch (target.type) {
    case 'column':
      return purpose.type === 'column'
        ? sendCards(closed, purpose.cardIds, target.id, target.name)
        : toColumn(closed, target.id)
    case 'board':
      return toBoard(closed, target)
    case 'project':
      return toProject(closed, target)
    case 'card':
      return toCard(closed, target.id)
    case 'action':
      return runAction(closed, target.action)
    case 'command':
      return runUserCommand(closed, target.command)
    case 'agent':
      return purpose.type === 'agent' ? chooseAgent(closed, purpose.cardIds, target) : toUpdate(closed)
    case 'model':
      return purpose.type === 'model'
        ? setAgent(closed, purpose.cardIds, { ...purpose.choice, model: target.id })
        : toUpdate(closed)
    case 'plan':
      return purpose.type === 'plan' ? planCards(closed, purpose, target.step) : toUpdate(closed)
    case 'label':
      return purpose.type === 'label' ? toggleLabel(model, dialog, purpose, { text: '', target }) : toUpdate(closed)
  }
}

/** Moves cards to the top of a column, in their order. */
function sendCards(model: Model, cardIds: readonly string[], columnId: string, name: string): Update {
  const inColumn = new Set(boardOf(model).columns.find(({ id }) => id === columnId)?.ids)
  const cards = cardsOf(model, cardIds).filter(({ id }) => !inColumn.has(id))
  if (cards.length === 0) return toUpdate(model)
  const places = cards.map(({ id }, position) => ({ cardId: id, columnId, position }))
  return moveCards(model, cards, places, `${named(cards)} to ${name}`)
}

const cardsOf = ({ cache, opened }: Model, cardIds: readonly string[]): Card[] =>
  cardIds.flatMap(id => cache.cards.get(id) ?? (opened?.card?.id === id ? opened.card : []))

function chooseAgent(
  model: Model,
  cardIds: readonly string[],
  { id, profile = null, install }: { id: string | null; profile?: string | null; install?: string },
): Update {
  if (install !== undefined)
    return toUpdate(
      withNotice(model, `${id} is not installed.${install === '' ? '' : ` Get it with: ${install}`}`, true),
    )
  // Choices for another agent do not apply to this one.
  const choice: AgentChoice = { agent: id, profile, model: null, mode: null, effort: null }
  const hasModel = model.agentProfiles.some(({ name, model: own }) => name === profile && own !== null)
  const models = hasModel ? [] : (model.agents.find(each => each.id === id)?.models ?? [])
  return models.length > 0
    ? toUpdate(withPick(model, { type: 'model', cardIds, choice }))
    : setAgent(model, cardIds, choice)
}

const setAgent = (model: Model, cardIds: readonly string[], choice: AgentChoice): Update =>
  runForEach(model, cardIds, cardId => ({ type: 'agent', cardId, choice }))

type Labels = Extract<Purpose, { type: 'label' }>

/** Marks a label for removal if all the cards have it, or else for adding. Saved by `applyLabels`. */
function toggleLabel(model: Model, dialog: PickDialog, purpose: Labels, { target }: PickItem): Update {
  const label = (target as { id: string }).id
  const mark = pickItems(model, { ...dialog, field: emptyField }).find(({ text }) => text === label)?.mark
  const marks = { ...purpose.marks, [label]: mark !== 'on' }
  return toUpdate({ ...model, dialog: { ...dialog, field: emptyField, at: 0, purpose: { ...purpose, marks } } })
}

/** Adds and removes the marked labels. If none is marked, toggles the label under the cursor. */
function applyLabels(model: Model, { cardIds, marks }: Labels, item: PickItem | undefined): Update {
  const wanted = Object.keys(marks).length > 0 ? marks : item ? { [item.text]: item.mark !== 'on' } : {}
  const closed = { ...model, dialog: undefined }
  if (Object.keys(wanted).length === 0) return toUpdate(closed)
  return runForEach(closed, cardIds, cardId => ({ type: 'label', cardId, marks: wanted }))
}
