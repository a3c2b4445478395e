import type { UserRole } from '../../contract/fields.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import type { SessionPurpose } from './sessionPurposes.ts'

/** An agent token with its card, and the role of the account that requested it (null if the account was deleted). */
export interface AgentTokenHolder {
  cardId: number
  projectId: number
  deletedAt: string | null
  sessionId: number | null
  /** The agent and the purpose of the token's session, if it belongs to one. */
  agent: string | null
  purpose: SessionPurpose | null
  userId: number | null
  userRole: UserRole | null
  expiresAt: string
}
export interface NewAgentToken {
  hash: string
  cardId: number
  sessionId: number | null
  userId: number | null
  expiresAt: string
}

export const findAgentToken = (db: Reader, hash: string): Promise<AgentTokenHolder | undefined> =>
  db.get(
    `SELECT t.card_id AS cardId, c.project_id AS projectId, c.deleted_at AS deletedAt, t.session_id AS sessionId, s.agent, s.purpose, t.user_id AS userId, u.role AS userRole, t.expires_at AS expiresAt
   FROM agent_tokens t JOIN cards c ON c.id = t.card_id LEFT JOIN agent_sessions s ON s.id = t.session_id LEFT JOIN users u ON u.id = t.user_id WHERE t.hash = ?`,
    [hash],
  )

export const insertAgentToken = async (tx: Transaction, token: NewAgentToken): Promise<void> => {
  await tx.run(
    'INSERT INTO agent_tokens (hash, card_id, session_id, user_id, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
    [token.hash, token.cardId, token.sessionId, token.userId, tx.now, token.expiresAt],
  )
}

/** Ends the tokens of a card, of a session, or that an account requested, and returns their hashes. */
export const deleteAgentTokens = async (
  tx: Transaction,
  of: { cardId: number } | { sessionId: number } | { userId: number },
): Promise<string[]> => {
  const [column, id] =
    'cardId' in of ? ['card_id', of.cardId] : 'userId' in of ? ['user_id', of.userId] : ['session_id', of.sessionId]
  return (await tx.all<{ hash: string }>(`DELETE FROM agent_tokens WHERE ${column} = ? RETURNING hash`, [id])).map(
    ({ hash }) => hash,
  )
}

/** Ends every token. */
export const deleteAllAgentTokens = async (tx: Transaction): Promise<void> => {
  await tx.run('DELETE FROM agent_tokens')
}

/** Deletes tokens that expired before the time. */
export const forgetAgentTokens = async (tx: Transaction, before: string): Promise<void> => {
  await tx.run('DELETE FROM agent_tokens WHERE expires_at < ?', [before])
}
