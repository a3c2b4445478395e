import { startsAgent } from '../../../src/client/agentStarts.ts'
import { boardOf, currentCard } from './board.ts'
import type { Card } from './cardCache.ts'
import {
  withNotice,
  updated,
  type Action,
  type Change,
  type Cmd,
  type Model,
  type Move,
  type Place,
  type Update,
} from './model.ts'

const maxUndos = 100

/** `card 12`, `3 cards`. */
export const named = (cards: readonly { id: string }[]): string =>
  cards.length === 1 ? `card ${cards[0]!.id}` : `${cards.length} cards`

/** What the person is asked about before it is done: what it is called, the agents that it ends, and those that it starts. */
interface Costs {
  what: string
  leaving: readonly Card[]
  starting?: number
  /** How many agents are started unasked. */
  maxStarting?: number
}

/** Does it, unless that ends agents, which can't be undone, or starts more of them than a person would expect: then it is asked about. */
export function ask(model: Model, action: Action, { what, leaving, starting = 0, maxStarting = 1 }: Costs): Update {
  const ending = leaving.filter(({ hasActiveAgent }) => hasActiveAgent)
  if (ending.length === 0 && starting <= maxStarting) return perform(model, action)
  const ends =
    ending.length === 0
      ? ''
      : ending.length === 1
        ? `The agent of card ${ending[0]!.id} is at work and will be ended. `
        : `${ending.length} agents are at work and will be ended. `
  const starts = starting === 0 ? '' : starting === 1 ? 'This starts an agent. ' : `This starts ${starting} agents. `
  return confirm(model, `${ends}${starts}${capital(what)}?`, action)
}

export const confirm = (model: Model, question: string, action: Action): Update =>
  updated({ ...model, dialog: { kind: 'confirm', question, action } })

const capital = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`

/** Moves cards to places; asks before it ends agents or starts more than one. */
export function moveCards(model: Model, cards: readonly Card[], places: readonly Place[], text: string): Update {
  const leaves = ({ id, columnId }: Card) => places.some(place => place.cardId === id && place.columnId !== columnId)
  return ask(
    model,
    { type: 'move', places, text },
    { what: `move ${text}`, leaving: cards.filter(leaves), starting: countStarts(model, places) },
  )
}

/** How many agents a person's moves to these places start. A card that is on its way counts as arrived. */
function countStarts({ cache, moves }: Model, places: readonly Place[]): number {
  const columns = new Map(cache.columns.map(column => [column.id, column]))
  const moving = new Map(moves.map(({ cardId, columnId }) => [cardId, columnId ?? '']))
  return places.filter(({ cardId, columnId }) => {
    const card = cache.cards.get(cardId)
    const column = columns.get(columnId)
    if (!card || !column) return false
    const arriving = moving.get(cardId)
    return startsAgent(arriving === undefined ? card : { columnId: arriving, hasActiveAgent: false }, column)
  }).length
}

/** Does it without asking. A new change leaves nothing to redo. */
export function perform(model: Model, action: Action): Update {
  const rested = { ...model, dialog: undefined, view: { ...model.view, selected: new Set<string>() } }
  switch (action.type) {
    case 'undo':
      return undone(rested)
    case 'redo':
      return redone(rested)
    case 'cancel':
    case 'merge':
      return updated(rested, ...action.cardIds.map((cardId): Cmd => ({ type: action.type, cardId })))
    default:
      return changed({ ...rested, redos: [] }, action)
  }
}

function changed(model: Model, change: Change): Update {
  if (change.type === 'move')
    return moved(
      remembered(
        model,
        change,
        change.text,
        change.places.map(({ cardId }) => cardId),
      ),
      change.places,
    )
  const what = named(change.cardIds.map(id => ({ id })))
  const [verb, past] = change.type === 'archive' ? ['archiving', 'Archived'] : ['deleting', 'Deleted']
  const noted = withNotice(
    remembered({ ...model, opened: undefined }, change, `${verb} of ${what}`, change.cardIds),
    `${past} ${what}.`,
  )
  const moves = change.cardIds.map((cardId, at): Move => ({
    id: model.serial + at,
    cardId,
    columnId: undefined,
    position: 0,
  }))
  return updated(
    { ...noted, moves: [...model.moves, ...moves], serial: model.serial + moves.length },
    ...moves.map((move): Cmd => ({ type: change.type, move })),
  )
}

function moved(model: Model, places: readonly Place[]): Update {
  const current = currentCard(model)?.id
  const wanted = places.some(({ cardId }) => cardId === current) ? current : places[0]?.cardId
  const moves = places.map((place, at): Move => ({ id: model.serial + at, ...place }))
  return updated(
    {
      ...model,
      view: { ...model.view, wanted },
      moves: [...model.moves, ...moves],
      serial: model.serial + moves.length,
    },
    ...moves.map((move): Cmd => ({ type: 'move', move })),
  )
}

/** Keeps where cards are, in the order in which they are put back. */
function remembered(model: Model, change: Change, text: string, cardIds: readonly string[]): Model {
  const wanted = new Set(cardIds)
  const before = boardOf(model).columns.flatMap(({ id, ids }) =>
    ids.flatMap((cardId, position) => (wanted.has(cardId) ? [{ cardId, columnId: id, position }] : [])),
  )
  return { ...model, undos: [...model.undos, { change, text, before }].slice(-maxUndos) }
}

/** Takes the last change back that has not been taken back yet; asks before that ends or starts an agent. */
export function undo(model: Model): Update {
  const last = model.undos.at(-1)
  if (!last) return updated(withNotice(model, 'There is nothing to undo.'))
  const places = last.change.type === 'move' ? last.before : []
  return ask(
    model,
    { type: 'undo' },
    {
      what: `undo ${last.text}`,
      leaving: leavingFor(model, last.before),
      starting: countStarts(model, places),
      maxStarting: 0,
    },
  )
}

/** Does the change again that was taken back last; asks before that ends or starts an agent. */
export function redo(model: Model): Update {
  const next = model.redos.at(-1)
  if (!next) return updated(withNotice(model, 'There is nothing to redo.'))
  const places = next.change.type === 'move' ? next.change.places : []
  const leaving =
    next.change.type === 'move'
      ? leavingFor(model, places)
      : next.change.cardIds.flatMap(id => model.cache.cards.get(id) ?? [])
  return ask(
    model,
    { type: 'redo' },
    { what: `redo ${next.text}`, leaving, starting: countStarts(model, places), maxStarting: 0 },
  )
}

const leavingFor = ({ cache }: Model, places: readonly Place[]): Card[] =>
  places.flatMap(({ cardId, columnId }) => {
    const card = cache.cards.get(cardId)
    return card && card.columnId !== columnId ? [card] : []
  })

function undone(model: Model): Update {
  const last = model.undos.at(-1)
  if (!last) return updated(model)
  const noted = {
    ...withNotice(model, `Undid: ${last.text}.`),
    undos: model.undos.slice(0, -1),
    redos: [...model.redos, last],
  }
  if (last.change.type === 'move') return moved(noted, last.before)
  const back = last.change.type === 'archive' ? 'unarchive' : 'restore'
  // Their removal is over with this, even if the server has not told of it yet.
  const moves = noted.moves.filter(({ cardId }) => !last.before.some(place => place.cardId === cardId))
  return updated(
    { ...noted, moves, view: { ...noted.view, wanted: last.before[0]?.cardId } },
    ...last.before.map((place): Cmd => ({ type: back, ...place })),
  )
}

function redone(model: Model): Update {
  const next = model.redos.at(-1)
  if (!next) return updated(model)
  const { model: after, cmds } = changed({ ...model, redos: model.redos.slice(0, -1) }, next.change)
  return updated(withNotice(after, `Redid: ${next.text}.`), ...cmds)
}
