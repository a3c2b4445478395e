/** The fields of every view of a card that decide whether a move starts its agent. */
export interface MovableCard {
  columnId: string
  hasActiveAgent?: boolean
}

/**
 * Whether a user's move of a card to a column starts its agent, or a terminal card's command: a move into an active column from another
 * one. A card whose agent is already running does not start a second one. A move by a caller without the permission to start agents starts
 * nothing.
 */
export const startsAgent = (card: MovableCard, to: { id: string; columnType: string }): boolean =>
  to.columnType === 'active' && to.id !== card.columnId && !card.hasActiveAgent

/** The fields of a moved card that describe the start of its agent. */
interface MovedCard {
  columnType?: string
  status?: string
  statusReason?: string | null
  updatedAt: string
  lastAgentAction?: { type: string; at: string; detail: string | null } | null
}

/**
 * Why the last change of a card, a move, did not start its agent. Null if no reason is recorded. Undefined if the agent was not
 * held back.
 */
export const whyNotStarted = (card: MovedCard): string | null | undefined => {
  const { columnType, status, statusReason, lastAgentAction, updatedAt } = card
  const isOfLastChange = lastAgentAction?.at === updatedAt
  const isHeld = lastAgentAction?.type === 'not_started' || (status === 'waiting' && statusReason === 'budget')
  return columnType === 'active' && isHeld && isOfLastChange ? lastAgentAction?.detail : undefined
}
