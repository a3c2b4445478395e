import type { Reader, Transaction } from './database.ts'

/** A message for an agent in the middle of a turn; `messageId` is its place in the transcript. */
export interface WaitingMessage {
  id: number
  sessionId: number
  content: string
  messageId: number
  createdAt: string
}

const fields = 'id, session_id AS sessionId, content, message_id AS messageId, created_at AS createdAt'

export const insertWaitingMessage = async (
  tx: Transaction,
  message: Pick<WaitingMessage, 'sessionId' | 'content' | 'messageId'>,
): Promise<number> =>
  (
    await tx.run('INSERT INTO waiting_messages (session_id, content, message_id, created_at) VALUES (?, ?, ?, ?)', [
      message.sessionId,
      message.content,
      message.messageId,
      tx.now,
    ])
  ).lastId

/** A session's waiting messages in the order in which they were sent. */
export const listWaitingMessages = (db: Reader, sessionId: number): Promise<WaitingMessage[]> =>
  db.all(`SELECT ${fields} FROM waiting_messages WHERE session_id = ? ORDER BY id`, [sessionId])

/** Takes the message out that has waited longest. */
export async function takeWaitingMessage(tx: Transaction, sessionId: number): Promise<WaitingMessage | undefined> {
  const next = await tx.get<WaitingMessage>(
    `SELECT ${fields} FROM waiting_messages WHERE session_id = ? ORDER BY id LIMIT 1`,
    [sessionId],
  )
  if (next) tx.enqueue('DELETE FROM waiting_messages WHERE id = ?', [next.id])
  return next
}

/** Hands a session's waiting messages over to the one that follows it. */
export const moveWaitingMessages = async (tx: Transaction, from: number, to: number): Promise<void> => {
  tx.enqueue('UPDATE waiting_messages SET session_id = ? WHERE session_id = ?', [to, from])
}

export const deleteWaitingMessages = async (tx: Transaction, sessionId: number): Promise<void> => {
  tx.enqueue('DELETE FROM waiting_messages WHERE session_id = ?', [sessionId])
}
