import type { Reader, Transaction } from '../engine/database.ts'
import type { SentAttachment } from './transcripts.ts'

/** A message for an agent in the middle of a turn; `messageId` is its place in the transcript. */
export interface WaitingMessage {
  id: number
  sessionId: number
  content: string
  messageId: number
  createdAt: string
  attachments: SentAttachment[]
}

const fields =
  'w.id, w.session_id AS sessionId, w.content, w.message_id AS messageId, w.created_at AS createdAt, m.attachments'
const from = 'FROM waiting_messages w JOIN transcript_messages m ON m.id = w.message_id'
type Row = Omit<WaitingMessage, 'attachments'> & { attachments: string }
const parse = (row: Row): WaitingMessage => ({ ...row, attachments: JSON.parse(row.attachments) as SentAttachment[] })

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

/** Whether messages wait for a session's agent. */
export const hasWaitingMessage = async (db: Reader, sessionId: number): Promise<boolean> =>
  (await readFirst(db, sessionId)) !== undefined

const readFirst = (db: Reader, sessionId: number): Promise<Row | undefined> =>
  db.get(`SELECT ${fields} ${from} WHERE w.session_id = ? ORDER BY w.id LIMIT 1`, [sessionId])

/** Takes the oldest waiting message, if it `fits`. */
export async function takeWaitingMessage(
  tx: Transaction,
  sessionId: number,
  fits: (message: Pick<WaitingMessage, 'content'>) => boolean = () => true,
): Promise<WaitingMessage | undefined> {
  const next = await readFirst(tx, sessionId)
  if (!next || !fits(next)) return undefined
  tx.enqueue('DELETE FROM waiting_messages WHERE id = ?', [next.id])
  return parse(next)
}

/** Deletes the waiting message with this place in the transcript. Returns false if the agent already has it. */
export const deleteWaitingMessage = async (tx: Transaction, sessionId: number, messageId: number): Promise<boolean> =>
  (await tx.run('DELETE FROM waiting_messages WHERE session_id = ? AND message_id = ?', [sessionId, messageId]))
    .changes > 0

/** Moves a session's waiting messages to its successor, behind those that wait there. */
export const moveWaitingMessages = async (tx: Transaction, from: number, to: number): Promise<void> => {
  const columns = 'content, message_id, created_at'
  tx.enqueue(
    `INSERT INTO waiting_messages (session_id, ${columns}) SELECT ?, ${columns} FROM waiting_messages WHERE session_id = ? ORDER BY id`,
    [to, from],
  )
  await deleteWaitingMessages(tx, from)
}

export const deleteWaitingMessages = async (tx: Transaction, sessionId: number): Promise<void> => {
  tx.enqueue('DELETE FROM waiting_messages WHERE session_id = ?', [sessionId])
}
