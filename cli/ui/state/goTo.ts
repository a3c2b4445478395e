import type { Named } from '../../context/resolve.ts'
import { boardOf, withCursor } from './board.ts'
import { emptyCache } from '../../../src/boardModel/cardCache.ts'
import { withNotice, toUpdate, type Model, type Update } from './model.ts'

/** Opens a card. A card that is not loaded, or is hidden by the filter, is read first. */
export function toCard(model: Model, cardId: string): Update {
  const closed = { ...model, opened: undefined }
  const column = boardOf(closed).columns.find(({ found }) => found.includes(cardId))
  return column
    ? toUpdate({ ...closed, view: withCursor(closed.view, column, column.found.indexOf(cardId)) })
    : toUpdate(closed, { type: 'find', cardId })
}

export const toColumn = (model: Model, columnId: string): Update =>
  toUpdate({ ...model, opened: undefined, view: { ...model.view, focus: columnId } })

export const toBoard = (model: Model, { id, name }: Named): Update =>
  toUpdate(withBoard(withNotice(model, `Board ${name}`), id), { type: 'columns' })

export const toProject = (model: Model, project: Named): Update =>
  project.id === model.project.id ? toUpdate(model) : toUpdate(withProject(model, project), { type: 'columns' })

/** Switches to another board, which is not loaded yet. */
export const withBoard = (model: Model, boardId: string): Model => ({
  ...model,
  boardId,
  cache: emptyCache,
  reading: undefined,
  moves: [],
  opened: undefined,
  preview: undefined,
  drag: undefined,
  view: { focus: '', cursors: {}, tops: {}, firstColumn: 0, selected: new Set(), filter: '' },
})

/** Switches to another project, which is not loaded yet. Clears the undo list. */
export const withProject = (model: Model, project: Named): Model => ({
  ...withBoard(model, ''),
  project,
  boards: [],
  undos: [],
  redos: [],
})
