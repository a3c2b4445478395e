import { getCard, type Card, type CardPlace } from './cardRoutes.ts'
import type { Context } from './context.ts'
import { Failure } from './exit.ts'
import { columnsOf } from './resolve.ts'

/**
 * Starts a card's agent: a card in an active column is activated, any other moves into the first active column of its board.
 * @throws Failure (conflict) when its board has no active column; ApiFailure CARD_NOT_DEFERRED when the agent was started before.
 */
export async function runCard(context: Context, place: CardPlace, card?: Card): Promise<void> {
  const { boardId, columnId } = card ?? await getCard(context, place)
  const columns = await columnsOf(context, place.projectId, boardId)
  const active = columns.filter(({ columnType }) => columnType === 'active')
  if (active.some(({ id }) => id === columnId)) return context.client.cards.activate(place)
  if (!active[0]) throw new Failure('conflict', 'the card\'s board has no active column', { see: 'board columns create --help' })
  await context.client.cards.move({ ...place, columnId: active[0].id })
}
