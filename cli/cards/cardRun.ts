import { getCard, type Card, type CardPlace } from './cardApi.ts'
import type { Context } from '../context/context.ts'
import { shortSentence } from '../failures/report.ts'
import { Failure } from '../failures/failure.ts'
import { listColumns } from '../context/resolve.ts'
import { startIn } from '../../src/client/startCard.ts'
import { warnOfFolder } from './startWarnings.ts'

/** Starts a card's agent as `startCard` does. @throws as `startCard`, and Failure (failure) if the server has no agent to start */
export async function runCard(context: Context, place: CardPlace, force = false): Promise<Card> {
  await startCard(context, place, force)
  const card = await getCard(context, place)
  await warnOfFolder(context, card)
  const { lastAgentAction } = card
  if (lastAgentAction?.type === 'not_started')
    throw new Failure(
      'failure',
      `card ${card.id}: ${shortSentence(lastAgentAction.detail ?? 'Its agent was not started.')}`,
      { see: 'board agents providers' },
    )
  return card
}

/**
 * Starts a card's agent. A first start moves the card to the first active column of its board if it is not in an active column. Later
 * starts resume the session where it stopped, or start a new one.
 * @throws Failure (conflict) if the board has no active column; ApiFailure INSUFFICIENT_PERMISSIONS | AGENT_ALREADY_RUNNING |
 * AGENT_UNAVAILABLE | CARD_BLOCKED
 */
export async function startCard(context: Context, place: CardPlace, force = false): Promise<'starts' | 'goes on'> {
  const { client } = context
  const card = await getCard(context, place)
  const active = await activeColumn(context, card)
  return startIn(client, card, active, { force })
}

/**
 * The column in which a card of the given column starts: the column itself if it is active, otherwise the first active column
 * of its board.
 * @throws Failure (conflict) if the board has none
 */
export async function activeColumn(
  context: Context,
  { projectId, boardId, columnId }: { projectId: string; boardId?: string; columnId?: string },
): Promise<{ id: string }> {
  const active = (await listColumns(context, projectId, boardId)).filter(({ columnType }) => columnType === 'active')
  const column = active.find(({ id }) => id === columnId) ?? active[0]
  if (column) return column
  throw new Failure('conflict', "the card's board has no active column", { see: 'board columns create --help' })
}
