import { getCard, type Card, type CardPlace } from './cardRoutes.ts'
import type { Context } from './context.ts'
import { Failure } from './exit.ts'
import { columnsOf } from './resolve.ts'

/**
 * Has a card's agent started: a card in an active column is activated, any other moves into the first active column of its board.
 * Warns when the server says that there is no agent to start.
 * @throws Failure (conflict) when its board has no active column; ApiFailure CARD_NOT_DEFERRED when the agent was started before.
 */
export async function runCard(context: Context, place: CardPlace): Promise<Card> {
  await startCard(context, place)
  const card = await getCard(context, place)
  const { lastAgentAction } = card
  if (lastAgentAction?.type === 'not_started') context.out.warn(`card ${card.id}: ${lastAgentAction.detail ?? 'its agent was not started'}`)
  return card
}

/** Activates a card of an active column; moves any other into the first active column. @throws like runCard */
export async function startCard(context: Context, place: CardPlace): Promise<void> {
  const { boardId, columnId } = await getCard(context, place)
  const columns = await columnsOf(context, place.projectId, boardId)
  const active = columns.filter(({ columnType }) => columnType === 'active')
  if (active.some(({ id }) => id === columnId)) return context.client.cards.activate(place)
  if (!active[0]) throw new Failure('conflict', 'the card\'s board has no active column', { see: 'board columns create --help' })
  await context.client.cards.move({ ...place, columnId: active[0].id })
}
