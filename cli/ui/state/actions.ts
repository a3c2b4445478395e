import {
  costsOfMove,
  costsOfRedo,
  costsOfUndo,
  lastDone,
  cardsText,
  questionBefore,
  withChange,
  withMovesForced,
  withRedone,
  withUndone,
  type Change,
  type Costs,
  type Place,
} from '../../../src/boardModel/changes.ts'
import type { Move } from '../../../src/boardModel/shownBoard.ts'
import { boardOf, currentCard } from './board.ts'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { cardOfCmd, withNotice, toUpdate, type Action, type Cmd, type Model, type Update } from './model.ts'

export { cardsText as named }

/** Performs an action, after a confirmation if it ends or starts agents unexpectedly. */
export function ask(model: Model, action: Action, costs: Costs): Update {
  const question = questionBefore(costs)
  return question === undefined ? perform(model, action) : confirm(model, question, action)
}

export const confirm = (model: Model, question: string, action: Action): Update =>
  toUpdate({ ...model, dialog: { kind: 'confirm', question, action } })

/** Moves cards to places, after a confirmation if that ends agents or starts more than one. */
export const moveCards = (model: Model, cards: readonly Card[], places: readonly Place[], text: string): Update =>
  ask(model, { type: 'move', places, text }, costsOfMove(model, cards, places, text))

/** Runs a command for each card, and deselects these cards. A refusal selects its card again. */
export function runForEach(model: Model, cardIds: readonly string[], cmdOf: (cardId: string) => Cmd): Update {
  return toUpdate(deselect(model, cardIds), ...cardIds.map(cardId => withSelection(model, cardId, cmdOf(cardId))))
}

function deselect(model: Model, cardIds: readonly string[]): Model {
  const selected = new Set(model.view.selected)
  for (const id of cardIds) selected.delete(id)
  return { ...model, view: { ...model.view, selected } }
}

const withSelection = ({ view }: Model, cardId: string, cmd: Cmd): Cmd =>
  view.selected.has(cardId) ? { ...cmd, wasSelected: true } : cmd

/** Performs an action without confirmation. A new change clears the redo list. */
export function perform(model: Model, action: Action): Update {
  const rested = { ...model, dialog: undefined }
  switch (action.type) {
    case 'undo':
      return undone(rested)
    case 'redo':
      return redone(rested)
    case 'force':
      return toUpdate(
        withMovesForced(
          deselect(
            rested,
            action.cmds.flatMap(cmd => cardOfCmd(cmd) ?? []),
          ),
          action.cmds.flatMap(cmd => (cmd.type === 'move' ? cmd.move : [])),
        ),
        ...action.cmds,
      )
    case 'cancel':
      return runForEach(rested, action.cardIds, cardId => ({ type: 'cancel', cardId }))
    case 'afterMerge':
      return toUpdate(rested, ...action.steps.map((steps): Cmd => ({ type: 'afterMerge', steps })))
    case 'merge':
      return runForEach(rested, action.cardIds, cardId => ({ type: 'merge', cardId, squash: action.squash }))
    default:
      return applyChange({ ...rested, redos: [] }, action)
  }
}

function applyChange(model: Model, change: Change): Update {
  const { state, moves, text } = withChange(model, boardOf(model), change)
  const noted = text === undefined ? state : withNotice(state, text)
  return carriedOut(change.type === 'move' ? noted : { ...noted, opened: undefined }, change.type, moves)
}

/** The cursor follows the moved cards, unless it is on one of them. */
function carriedOut(model: Model, type: Change['type'], moves: readonly Move[]): Update {
  const cmds = moves.map(move => withSelection(model, move.cardId, { type, move }))
  const rest = deselect(
    model,
    moves.map(({ cardId }) => cardId),
  )
  if (type !== 'move') return toUpdate(rest, ...cmds)
  const current = currentCard({ ...model, moves: model.moves.filter(move => !moves.includes(move)) })?.id
  const wanted = moves.some(({ cardId }) => cardId === current) ? current : moves[0]?.cardId
  return toUpdate({ ...rest, view: { ...rest.view, wanted } }, ...cmds)
}

/** Undoes the latest change, after a confirmation if that ends or starts an agent. */
export function undo(model: Model): Update {
  const last = lastDone(model)
  if (!last) return toUpdate(withNotice(model, 'There is nothing to undo.'))
  return ask(model, { type: 'undo' }, costsOfUndo(model, last))
}

/** Redoes the latest undone change, after a confirmation if that ends or starts an agent. */
export function redo(model: Model): Update {
  const next = model.redos.at(-1)
  if (!next) return toUpdate(withNotice(model, 'There is nothing to redo.'))
  return ask(model, { type: 'redo' }, costsOfRedo(model, next))
}

function undone(model: Model): Update {
  const result = withUndone(model)
  if (!result) return toUpdate(model)
  const { state, moves, text = '', back } = result
  const noted = withNotice(state, text)
  if (!back) return carriedOut(noted, 'move', moves)
  return toUpdate(
    { ...noted, view: { ...noted.view, wanted: back.places[0]?.cardId } },
    ...back.places.map((place): Cmd => ({ type: back.type, ...place })),
  )
}

function redone(model: Model): Update {
  const result = withRedone(model, boardOf(model))
  if (!result) return toUpdate(model)
  const { state, moves, text = '', change } = result
  const noted = withNotice(state, text)
  return carriedOut(change.type === 'move' ? noted : { ...noted, opened: undefined }, change.type, moves)
}
