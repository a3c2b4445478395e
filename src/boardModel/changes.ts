import { startsAgent } from '../client/agentStarts.ts'
import type { Card, CardCache } from './cardCache.ts'
import type { Move, ShownBoard, ShownColumn } from './shownBoard.ts'

/** A place on the board. */
export interface Place {
  cardId: string
  columnId: string
  position: number
}
/** A user's change of cards that can be undone. */
export type Change =
  | { type: 'move'; places: readonly Place[]; text: string }
  | { type: 'archive' | 'delete'; cardIds: readonly string[] }
/** A change, and the earlier places of its cards. */
export interface Done {
  change: Change
  text: string
  before: readonly Place[]
  /** The IDs of its moves. */
  moves: readonly number[]
  /** The cards whose moves the server has refused. */
  refused: readonly string[]
}
/** A user's changes: the pending ones, and those that can be undone or redone. */
export interface Changing {
  cache: CardCache
  moves: readonly Move[]
  undos: readonly Done[]
  redos: readonly Done[]
  /** The number of the next move or request. */
  serial: number
}

const maxUndos = 100

/** `card 12`, `3 cards`. */
export const cardsText = (cards: readonly { id: string }[]): string =>
  cards.length === 1 ? `card ${cards[0]!.id}` : `${cards.length} cards`

/** The effects of a change that might require confirmation: its name, the agents that it ends, and those that it starts. */
export interface Costs {
  what: string
  leaving: readonly Card[]
  starting?: number
  /** The number of agents that can start without confirmation. */
  maxStarting?: number
}

/**
 * The question before a change. A change requires confirmation if it ends agents, which cannot be undone, or starts more of them
 * than a user expects.
 */
export function questionBefore({ what, leaving, starting = 0, maxStarting = 1 }: Costs): string | undefined {
  const ending = leaving.filter(({ hasActiveAgent }) => hasActiveAgent)
  if (ending.length === 0 && starting <= maxStarting) return undefined
  const ends =
    ending.length === 0
      ? ''
      : ending.length === 1
        ? `The agent of card ${ending[0]!.id} is running and will be stopped. `
        : `${ending.length} agents are running and will be stopped. `
  const starts = starting === 0 ? '' : starting === 1 ? 'This starts an agent. ' : `This starts ${starting} agents. `
  return `${ends}${starts}${capital(what)}?`
}

const capital = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`

/** The effects of moving cards to places. */
export const costsOfMove = (
  state: Pick<Changing, 'cache' | 'moves'>,
  cards: readonly Card[],
  places: readonly Place[],
  text: string,
): Costs => ({
  what: `move ${text}`,
  leaving: cards.filter(({ id, columnId }) => places.some(place => place.cardId === id && place.columnId !== columnId)),
  starting: countStarts(state, places),
})

/** The effects of undoing a change. */
export const costsOfUndo = (state: Changing, { change, text, before }: Done): Costs => ({
  what: `undo ${text}`,
  leaving: leavingFor(state, before),
  starting: countStarts(state, change.type === 'move' ? before : []),
  maxStarting: 0,
})

/** The effects of redoing a change. */
export function costsOfRedo(state: Changing, { change, text }: Done): Costs {
  const places = change.type === 'move' ? change.places : []
  const leaving =
    change.type === 'move' ? leavingFor(state, places) : change.cardIds.flatMap(id => state.cache.cards.get(id) ?? [])
  return { what: `redo ${text}`, leaving, starting: countStarts(state, places), maxStarting: 0 }
}

/**
 * The number of agents that a user's moves to these places start. A pending move counts as completed. An unknown card, in a part
 * of a column that has not been read yet, counts as being in another column, because an unnecessary question is better than an
 * unconfirmed start.
 */
export function countStarts({ cache, moves }: Pick<Changing, 'cache' | 'moves'>, places: readonly Place[]): number {
  const columns = new Map(cache.columns.map(column => [column.id, column]))
  const moving = new Map(moves.map(({ cardId, columnId }) => [cardId, columnId ?? elsewhere]))
  return places.filter(({ cardId, columnId }) => {
    const arriving = moving.get(cardId)
    const known = arriving === undefined ? cache.cards.get(cardId) : undefined
    const column = columns.get(columnId)
    return column !== undefined && startsAgent(known ?? { columnId: arriving ?? elsewhere }, column)
  }).length
}
const elsewhere = ''

const leavingFor = ({ cache }: Changing, places: readonly Place[]): Card[] =>
  places.flatMap(({ cardId, columnId }) => {
    const card = cache.cards.get(cardId)
    return card && card.columnId !== columnId ? [card] : []
  })

/** Cards at the top of a column, in their order. */
export const placesAtTop = (cards: readonly { id: string }[], target: { id: string }): Place[] =>
  cards.map(({ id }, at) => ({ cardId: id, columnId: target.id, position: at }))

/**
 * The place of each card if the cards move one after another, so that in the end they are together before a card, or at the end of the
 * column.
 */
export function placesBefore(
  cards: readonly { id: string }[],
  column: ShownColumn,
  anchor: string | undefined,
): Place[] {
  const ids = [...column.ids]
  const unread = column.total - ids.length
  return cards.map(({ id }) => {
    const from = ids.indexOf(id)
    if (from >= 0) ids.splice(from, 1)
    const position = anchor === undefined ? ids.length : ids.indexOf(anchor)
    ids.splice(position, 0, id)
    return { cardId: id, columnId: column.id, position: anchor === undefined ? position + unread : position }
  })
}

/** A state after a change, with the moves that apply it. */
interface Changed<T> {
  state: T
  moves: readonly Move[]
  /** The message about the change. */
  text?: string
}

/** Applies a change, which is visible at once and can be undone. */
export function withChange<T extends Changing>(state: T, board: ShownBoard, change: Change): Changed<T> {
  if (change.type === 'move') {
    const moved = withMoving(state, change.places)
    return { ...moved, state: withEarlierPlaces(moved, board, change, change.text) }
  }
  const what = cardsText(change.cardIds.map(id => ({ id })))
  const [verb, past] = change.type === 'archive' ? ['archiving', 'Archived'] : ['deleting', 'Deleted']
  const gone = change.cardIds.map(cardId => ({ cardId, columnId: undefined, position: 0 }))
  const removed = withMoving(state, gone)
  return {
    ...removed,
    state: withEarlierPlaces(removed, board, change, `${verb} of ${what}`),
    text: `${past} ${what}.`,
  }
}

function withMoving<T extends Changing>(state: T, places: readonly Omit<Move, 'id'>[]): Changed<T> {
  const moves = places.map((place, at): Move => ({ id: state.serial + at, ...place }))
  return { state: { ...state, moves: [...state.moves, ...moves], serial: state.serial + moves.length }, moves }
}

/** Records the earlier places of moved cards, in the order in which they are restored. */
function withEarlierPlaces<T extends Changing>(
  { state, moves }: Changed<T>,
  board: ShownBoard,
  change: Change,
  text: string,
): T {
  const wanted = new Set(moves.map(({ cardId }) => cardId))
  const before = board.columns.flatMap(({ id, ids }) =>
    ids.flatMap((cardId, position) => (wanted.has(cardId) ? [{ cardId, columnId: id, position }] : [])),
  )
  const done: Done = { change, text, before, moves: moves.map(({ id }) => id), refused: [] }
  return { ...state, undos: [...state.undos, done].slice(-maxUndos) }
}

/** Returns the last change with a move that the server has not refused, and the earlier places of these moves. */
export function lastDone({ undos }: Pick<Changing, 'undos'>): Done | undefined {
  const happened = undos.map(done => ({
    ...done,
    before: done.before.filter(({ cardId }) => !done.refused.includes(cardId)),
  }))
  return happened.findLast(({ before }) => before.length > 0)
}

/** Undoes the last change. `back` are cards that are restored from the archive or the trash. */
export function withUndone<T extends Changing>(
  state: T,
): (Changed<T> & { back?: { type: 'unarchive' | 'restore'; places: readonly Place[] } }) | undefined {
  const last = lastDone(state)
  if (!last) return undefined
  const text = `Undid: ${last.text}.`
  const at = state.undos.findLastIndex(({ moves }) => moves === last.moves)
  const after = { ...state, undos: state.undos.slice(0, at), redos: [...state.redos, last] }
  if (last.change.type === 'move') return { ...withMoving(after, last.before), text }
  // The cards' pending removals are dropped, even if the server has not announced them yet.
  const moves = after.moves.filter(({ cardId }) => !last.before.some(place => place.cardId === cardId))
  const type = last.change.type === 'archive' ? 'unarchive' : 'restore'
  return { state: { ...after, moves }, moves: [], text, back: { type, places: last.before } }
}

/** Redoes the change that was undone last. */
export function withRedone<T extends Changing>(
  state: T,
  board: ShownBoard,
): (Changed<T> & { change: Change }) | undefined {
  const next = state.redos.at(-1)
  if (!next) return undefined
  const done = withChange({ ...state, redos: state.redos.slice(0, -1) }, board, next.change)
  return { ...done, text: `Redid: ${next.text}.`, change: next.change }
}

/** Records that the server has completed a move. The move is shown until the cache has that version. */
export const withMoveDone = <T extends Pick<Changing, 'moves'>>(state: T, moveId: number, version: number): T => ({
  ...state,
  moves: state.moves.map(move => (move.id === moveId ? { ...move, doneVersion: version } : move)),
})

type Moving = Pick<Changing, 'moves' | 'undos'>

/** Records that the server has refused a move, so the card is at its earlier place. */
export function withMoveRefused<T extends Moving>(state: T, moveId: number | undefined): T {
  const refused = state.moves.find(({ id }) => id === moveId)
  if (!refused) return state
  return {
    ...state,
    moves: state.moves.filter(move => move !== refused),
    undos: state.undos.map(done =>
      done.moves.includes(refused.id) ? { ...done, refused: [...done.refused, refused.cardId] } : done,
    ),
  }
}

/** Repeats rejected moves with force. */
export const withMovesForced = <T extends Moving>(state: T, moves: readonly Move[]): T => ({
  ...state,
  moves: [...state.moves, ...moves],
  undos: state.undos.map(done => ({
    ...done,
    refused: done.refused.filter(cardId => !moves.some(move => move.cardId === cardId && done.moves.includes(move.id))),
  })),
})
