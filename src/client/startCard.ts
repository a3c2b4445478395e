import type { Client } from './index.ts'

const brokenOff: ReadonlySet<string> = new Set(['failed', 'interrupted', 'cancelled'])

/** Whether starting a card's agent resumes interrupted work. */
export const goesOn = ({ status }: { status: string }): boolean => brokenOff.has(status)

/**
 * Starts a card's agent for the first time, resumes an interrupted agent, or starts a new session. A first start can move the card to an
 * active column. With `force`, a card that waits for others also starts.
 * @throws ApiFailure INSUFFICIENT_PERMISSIONS | AGENT_ALREADY_RUNNING | AGENT_UNAVAILABLE | CARD_BLOCKED
 */
export async function startIn(
  client: Pick<Client, 'cards' | 'agents'>,
  card: { id: string; projectId: string; columnId: string; deferred: boolean; status: string },
  active: { id: string },
  { force = false }: { force?: boolean } = {},
): Promise<'starts' | 'goes on'> {
  const place = { projectId: card.projectId, cardId: card.id }
  // If the run cannot start, the card does not move.
  if (active.id !== card.columnId) await client.cards.move({ ...place, columnId: active.id, mustStart: true, force })
  else if (card.deferred) await client.cards.activate({ ...place, force })
  else if (goesOn(card)) {
    await client.agents.retry({ ...place, force })
    return 'goes on'
  } else await client.agents.relaunch({ ...place, force })
  return 'starts'
}
