import type { EventData, EventType } from '../contract/server/events.ts'
import { readCardTitle } from '../store/cards/cardTitles.ts'
import type { SessionPurpose } from '../store/agents/sessionPurposes.ts'
import type { Transaction } from '../store/engine/database.ts'
import { appendEvent } from './outbox.ts'

type AgentEvent = Extract<EventType, `agent.${string}`>

/**
 * Appends an event of a session, with the ID and title of its card. A reviewer of a gate has no events, because clients would take them for
 * those of the card's agent: its proof has.
 */
export async function appendAgentEvent<T extends AgentEvent>(
  tx: Transaction,
  type: T,
  { projectId, cardId, purpose }: { projectId: number; cardId: number; purpose?: SessionPurpose },
  data: Omit<EventData<T>, 'cardId' | 'cardTitle'>,
): Promise<void> {
  if (purpose === 'review') return
  const cardTitle = await readCardTitle(tx, cardId)
  await appendEvent(tx, type, projectId, { ...data, cardId: String(cardId), cardTitle } as unknown as EventData<T>)
}
