/** What decides whether a move starts a card's agent, as every view of a card has it. */
export interface MovableCard {
  columnId: string
  hasActiveAgent?: boolean
}

/**
 * Whether a person's move of a card to a column starts its agent, or a terminal card's command: into an active column from
 * another one. A card whose agent is at work already adds none. An API key's move starts nothing.
 */
export const startsAgent = (card: MovableCard, to: { id: string; columnType: string }): boolean =>
  to.columnType === 'active' && to.id !== card.columnId && !card.hasActiveAgent

/** What a card that was moved says of the start of its agent. */
interface MovedCard {
  columnType?: string
  status?: string
  statusReason?: string | null
  updatedAt: string
  lastAgentAction?: { type: string; at: string; detail: string | null } | null
}

/** Why a card's agent did not start by the move that has just brought it here; null where that is not known. */
export const whyNotStarted = (card: MovedCard): string | null | undefined => {
  const { columnType, status, statusReason, lastAgentAction, updatedAt } = card
  const isHeld = lastAgentAction?.type === 'not_started' || (status === 'waiting' && statusReason === 'budget')
  return columnType === 'active' && isHeld && lastAgentAction?.at === updatedAt ? lastAgentAction.detail : undefined
}
