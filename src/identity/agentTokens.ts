import { Problem } from '../contract/errors.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import * as cards from '../domain/cards/cards.ts'
import { hashToken, createToken } from '../domain/accounts/token.ts'
import { deleteAgentTokens, insertAgentToken } from '../store/agents/agentTokens.ts'
import type { Transaction } from '../store/engine/database.ts'
import type { Revocations } from './revocations.ts'

/** The maximum lifetime of an agent token. */
export const maxTokenSecs = 12 * 3600

/** A new agent token; `token` is shown only once. */
export interface MintedAgentToken {
  token: string
  expiresAt: string
}

/**
 * Creates a token for a card: for one of its sessions, or for the user `userId`, who requested it. The token expires at the earliest of
 * these times: the end of the card's active execution, after `ttlSecs`, or after 12 hours.
 */
export async function mintAgentToken(
  tx: Transaction,
  of: { cardId: number; sessionId?: number; userId?: number; ttlSecs: number },
): Promise<MintedAgentToken> {
  const token = createToken('svc_at_')
  const expiresAt = new Date(Date.parse(tx.now) + Math.min(of.ttlSecs, maxTokenSecs) * 1000).toISOString()
  await insertAgentToken(tx, {
    hash: hashToken(token),
    cardId: of.cardId,
    sessionId: of.sessionId ?? null,
    userId: of.userId ?? null,
    expiresAt,
  })
  return { token, expiresAt }
}

/**
 * Creates a token of a card for a user, who works on the card instead of the agent.
 * @throws Problem CARD_NOT_FOUND, CONFLICT if the card is not in active execution
 */
export async function mintForPerson(
  tx: Transaction,
  caller: Caller,
  ref: cards.CardRef,
  ttlSecs: number,
): Promise<MintedAgentToken> {
  const card = await cards.find(tx, ref)
  if (card.kind !== 'kanban') throw new Problem('CONFLICT', 'Only kanban cards have agent tokens.')
  if (card.archivedAt !== null || card.columnType !== 'active')
    throw new Problem('CONFLICT', 'The card is not in an active column.')
  return mintAgentToken(tx, { cardId: card.id, userId: caller.userId, ttlSecs })
}

/**
 * Revokes the agent tokens of a card or session in the transaction that ends active execution; their sockets are
 * closed after the commit.
 */
export async function revokeAgentTokens(
  revocations: Revocations,
  tx: Transaction,
  of: { cardId: number } | { sessionId: number } | { userId: number },
): Promise<void> {
  for (const tokenHash of await deleteAgentTokens(tx, of)) await revocations.announce(tx, { tokenHash })
}
