import type { EventData, EventType } from '../contract/server/events.ts'
import { readCardTitle } from '../store/cards/cardTitles.ts'
import type { Transaction } from '../store/engine/database.ts'
import { appendEvent } from './outbox.ts'

type AgentEvent = Extract<EventType, `agent.${string}`>

/** Appends an event of a session, with the ID and title of its card. */
export async function appendAgentEvent<T extends AgentEvent>(
  tx: Transaction,
  type: T,
  { projectId, cardId }: { projectId: number; cardId: number },
  data: Omit<EventData<T>, 'cardId' | 'cardTitle'>,
): Promise<void> {
  const cardTitle = await readCardTitle(tx, cardId)
  await appendEvent(tx, type, projectId, { ...data, cardId: String(cardId), cardTitle } as unknown as EventData<T>)
}
