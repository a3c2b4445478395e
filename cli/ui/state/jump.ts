import { nearest } from '../../text.ts'
import { boardOf, withCursor } from './board.ts'
import { say, updated, type Model, type Update } from './model.ts'

/** Where one can go by name. */
export interface Place {
  kind: 'column' | 'board'
  id: string
  name: string
}

const maxSuggestions = 8

/** The columns and boards that have the text in their name; those that begin with it come first. */
export function suggestions(model: Model, text: string): Place[] {
  const wanted = text.toLowerCase()
  const has = ({ name }: Place) => name.toLowerCase().includes(wanted)
  const begins = ({ name }: Place) => name.toLowerCase().startsWith(wanted)
  return places(model)
    .filter(has)
    .sort((a, b) => Number(begins(b)) - Number(begins(a)))
    .slice(0, maxSuggestions)
}

function places(model: Model): Place[] {
  const columns = boardOf(model).columns.map(({ id, name }): Place => ({ kind: 'column', id, name }))
  return [
    ...columns,
    ...model.boards
      .filter(({ id }) => id !== model.boardId)
      .map(({ id, name }): Place => ({ kind: 'board', id, name })),
  ]
}

/** Goes to a card by its id, or to a column or a board by its name. */
export function jumpTo(model: Model, text: string): Update {
  const id = /^#?([1-9]\d{0,15})$/.exec(text)?.[1]
  const exact = places(model).find(({ name }) => name.toLowerCase() === text.toLowerCase())
  if (id !== undefined && !exact) return toCard(model, id)
  const place = exact ?? suggestions(model, text)[0]
  if (place) return toPlace(model, place)
  const meant = nearest(
    text,
    places(model).map(({ name }) => name),
    1,
  )[0]
  return updated(
    say(model, `There is no column or board "${text}".${meant === undefined ? '' : ` Did you mean ${meant}?`}`, true),
  )
}

/** A card that is not on the board, or hidden by the filter, is asked for. */
export function toCard(model: Model, cardId: string): Update {
  const closed = { ...model, opened: undefined }
  const column = boardOf(closed).columns.find(({ found }) => found.includes(cardId))
  return column
    ? updated({ ...closed, view: withCursor(closed.view, column, column.found.indexOf(cardId)) })
    : updated(closed, { type: 'find', cardId })
}

function toPlace(model: Model, { kind, id, name }: Place): Update {
  if (kind === 'column') return updated({ ...model, opened: undefined, view: { ...model.view, focus: id } })
  return updated(withBoard(say(model, `Board ${name}`), id), { type: 'columns' })
}

/** Another board, of which nothing is known yet. */
export const withBoard = (model: Model, boardId: string): Model => ({
  ...model,
  boardId,
  cache: { columns: [], cards: new Map() },
  reading: undefined,
  moves: [],
  opened: undefined,
  view: { focus: '', cursors: {}, tops: {}, firstColumn: 0, selected: new Set(), filter: '' },
})
