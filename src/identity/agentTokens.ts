import { Problem } from '../contract/errors.ts'
import type { Caller } from '../domain/caller.ts'
import * as cards from '../domain/cards.ts'
import { hashToken, mint } from '../ids/token.ts'
import { deleteAgentTokens, insertAgentToken } from '../store/agentTokens.ts'
import type { Transaction } from '../store/database.ts'
import type { Revocations } from './revocations.ts'

/** No agent token lives longer. */
export const maxTokenSecs = 12 * 3600

/** An agent token that has just been made; `token` is shown this once. */
export interface MintedAgentToken {
  token: string
  expiresAt: string
}

/**
 * Makes a token of one card, and of one session of it unless a person asked for it: `userId` is who did.
 * It ends with the card's active execution, after `ttlSecs`, and after 12 hours at the latest.
 */
export async function mintAgentToken(
  tx: Transaction,
  of: { cardId: number; sessionId?: number; userId?: number; ttlSecs: number },
): Promise<MintedAgentToken> {
  const token = mint('svc_at_')
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
 * Makes a token of a card that a person works on, who is not the agent.
 * @throws Problem CARD_NOT_FOUND, CONFLICT when the card is not in active execution
 */
export async function mintForPerson(
  tx: Transaction,
  caller: Caller,
  ref: cards.CardRef,
  ttlSecs: number,
): Promise<MintedAgentToken> {
  const card = await cards.find(tx, ref)
  if (card.kind !== 'kanban') throw new Problem('CONFLICT', 'Only a kanban card has agent tokens.')
  if (card.archivedAt !== null || card.columnType !== 'active')
    throw new Problem('CONFLICT', 'The card is not in an active column.')
  return mintAgentToken(tx, { cardId: card.id, userId: caller.userId, ttlSecs })
}

/** Ends a card's agent tokens, or a session's, in the transaction of the change that ends active execution; their sockets are closed after the commit. */
export async function revokeAgentTokens(
  revocations: Revocations,
  tx: Transaction,
  of: { cardId: number } | { sessionId: number } | { userId: number },
): Promise<void> {
  for (const tokenHash of await deleteAgentTokens(tx, of)) await revocations.announce(tx, { tokenHash })
}
