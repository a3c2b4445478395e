import type { Reader, Transaction } from '../engine/database.ts'

/** How many cards a session can create in a project. */
export const readMaxSessionCards = async (db: Reader, projectId: number): Promise<number> =>
  (await db.get<{ max: number }>('SELECT session_cards AS max FROM projects WHERE id = ?', [projectId]))?.max ?? 0

/** Counts a card of a session, or of a token without a session. @returns how many it has created */
export async function addCreatedCard(
  tx: Transaction,
  { sessionId, tokenHash }: { sessionId: number | null; tokenHash: string },
): Promise<number> {
  const [table, key, value] =
    sessionId === null ? ['agent_tokens', 'hash', tokenHash] : ['agent_sessions', 'id', sessionId]
  const [row] = await tx.all<{ created: number }>(
    `UPDATE ${table} SET created_cards = created_cards + 1 WHERE ${key} = ? RETURNING created_cards AS created`,
    [value],
  )
  return row?.created ?? 0
}

/** Resets the count of a session. */
export const forgetCreatedCards = (tx: Transaction, sessionId: number): void =>
  tx.enqueue('UPDATE agent_sessions SET created_cards = 0 WHERE id = ?', [sessionId])
