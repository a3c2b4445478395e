import { find, type CardRef } from '../../src/domain/cards/cards.ts'
import type { Reader } from '../../src/store/engine/database.ts'

/** Reports to a model whether a card's agent started and, if it did not, the next step. */
export async function describeStart(db: Reader, ref: CardRef): Promise<Record<string, unknown>> {
  const { columnType, archivedAt, status } = await find(db, ref)
  const isActive = columnType === 'active' && archivedAt === null
  if (isActive && status !== 'idle') return { done: true, started: true }
  return {
    done: true,
    started: false,
    next: isActive
      ? 'The agent was not started. For the reason, see lastAgentAction of get_card.'
      : 'The agent was not started because the card is not in an active column. To start it, use move_card with an active column from list_columns.',
  }
}
