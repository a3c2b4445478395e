import { boardOf, currentCard } from './board.ts'
import { say, updated, type Cmd, type Action, type Model, type Move, type Place, type Update } from './model.ts'
import type { Card } from './cardCache.ts'

const maxUndos = 100

/** `card 12`, `3 cards`. */
export const named = (cards: readonly { id: string }[]): string =>
  cards.length === 1 ? `card ${cards[0]!.id}` : `${cards.length} cards`

/** Does it, unless that ends agents, which can't be undone: then the person is asked. */
export function ask(model: Model, cards: readonly Card[], what: string, action: Action): Update {
  const working = cards.filter(({ hasActiveAgent }) => hasActiveAgent)
  if (working.length === 0) return perform(model, action)
  const whose =
    working.length === 1
      ? `The agent of card ${working[0]!.id} is at work and will be ended.`
      : `${working.length} agents are at work and will be ended.`
  return updated({
    ...model,
    dialog: { kind: 'confirm', question: `${whose} ${what[0]!.toUpperCase()}${what.slice(1)}?`, action },
  })
}

export function perform(model: Model, action: Action): Update {
  const rested = { ...model, dialog: undefined, view: { ...model.view, selected: new Set<string>() } }
  switch (action.type) {
    case 'move':
      return moved(
        withUndo(
          rested,
          action.places.map(({ cardId }) => cardId),
          action.text,
          false,
        ),
        action.places,
      )
    case 'archive':
      return archived(rested, action.cardIds)
    case 'undo':
      return undone(rested)
    case 'cancel':
      return updated(rested, ...action.cardIds.map((cardId): Cmd => ({ type: 'cancel', cardId })))
  }
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

function archived(model: Model, cardIds: readonly string[]): Update {
  const what = named(cardIds.map(id => ({ id })))
  const noted = say(
    withUndo({ ...model, opened: undefined }, cardIds, `archiving of ${what}`, true),
    `Archived ${what}.`,
  )
  const moves = cardIds.map((cardId, at): Move => ({ id: model.serial + at, cardId, columnId: undefined, position: 0 }))
  return updated(
    { ...noted, moves: [...model.moves, ...moves], serial: model.serial + moves.length },
    ...moves.map((move): Cmd => ({ type: 'archive', move })),
  )
}

/** Remembers where cards are, in the order in which they are put back. */
function withUndo(model: Model, cardIds: readonly string[], text: string, wasArchived: boolean): Model {
  const wanted = new Set(cardIds)
  const places = boardOf(model).columns.flatMap(({ id, ids }) =>
    ids.flatMap((cardId, position) => (wanted.has(cardId) ? [{ cardId, columnId: id, position }] : [])),
  )
  return { ...model, undos: [...model.undos, { text, places, wasArchived }].slice(-maxUndos) }
}

/** Takes the last move or archiving back. */
export function undo(model: Model): Update {
  const last = model.undos.at(-1)
  if (!last) return updated(say(model, 'There is nothing to undo.'))
  const leaving = last.places
    .flatMap(({ cardId }) => model.cache.cards.get(cardId) ?? [])
    .filter(card => last.places.some(({ cardId, columnId }) => cardId === card.id && columnId !== card.columnId))
  return ask(model, leaving, `undo ${last.text}`, { type: 'undo' })
}

function undone(model: Model): Update {
  const last = model.undos.at(-1)
  if (!last) return updated(model)
  const noted = { ...say(model, `Undid: ${last.text}.`), undos: model.undos.slice(0, -1) }
  if (!last.wasArchived) return moved(noted, last.places)
  return updated(
    { ...noted, view: { ...noted.view, wanted: last.places[0]?.cardId } },
    ...last.places.map((place): Cmd => ({ type: 'unarchive', ...place })),
  )
}
