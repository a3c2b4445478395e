import { find, type CardRef } from '../../src/domain/cards.ts'
import type { Reader } from '../../src/store/database.ts'

/** What a model is told after a card's agent was to start: whether it did, and what to do where it did not. */
export async function tellOfStart(db: Reader, ref: CardRef): Promise<Record<string, unknown>> {
  const { columnType, archivedAt, status } = await find(db, ref)
  const isActive = columnType === 'active' && archivedAt === null
  if (isActive && status !== 'idle') return { done: true, started: true }
  return {
    done: true,
    started: false,
    next: isActive
      ? 'Its agent was not started: lastAgentAction of get_card says why.'
      : 'Nothing was started: the card is not in an active column. move_card into one starts it; list_columns has them.',
  }
}
