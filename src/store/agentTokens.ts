import type { Reader, Transaction } from './database.ts'

/** An agent token and the card that it is for, as it stands now. The card's fields are null once it is gone. */
export interface AgentTokenHolder {
  id: number; cardId: number; sessionId: number | null; userId: number | null; expiresAt: string; projectId: number | null; deletedAt: string | null
}
export interface NewAgentToken { hash: string; cardId: number; sessionId: number | null; userId: number | null; expiresAt: string }

export const findAgentToken = (db: Reader, hash: string): Promise<AgentTokenHolder | undefined> => db.get(
  `SELECT t.id, t.card_id AS cardId, t.session_id AS sessionId, t.user_id AS userId, t.expires_at AS expiresAt, c.project_id AS projectId, c.deleted_at AS deletedAt
   FROM agent_tokens t LEFT JOIN cards c ON c.id = t.card_id WHERE t.hash = ?`, [hash])

export const insertAgentToken = async (tx: Transaction, token: NewAgentToken): Promise<void> => {
  await tx.run('INSERT INTO agent_tokens (hash, card_id, session_id, user_id, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)', [token.hash, token.cardId, token.sessionId, token.userId, tx.now, token.expiresAt])
}

/** Ends a card's tokens, or a session's, and tells their hashes. */
export const deleteAgentTokens = async (tx: Transaction, of: { cardId: number } | { sessionId: number }): Promise<string[]> => {
  const [column, id] = 'cardId' in of ? ['card_id', of.cardId] : ['session_id', of.sessionId]
  return (await tx.all<{ hash: string }>(`DELETE FROM agent_tokens WHERE ${column} = ? RETURNING hash`, [id])).map(({ hash }) => hash)
}

/** Forgets tokens that expired before the time. */
export const forgetAgentTokens = async (tx: Transaction, before: string): Promise<void> => { await tx.run('DELETE FROM agent_tokens WHERE expires_at < ?', [before]) }
