import type { Database, Reader, Transaction, Value } from '../engine/database.ts'
import { inShortTransactions } from '../engine/shortTransactions.ts'

export type TranscriptRole = 'user' | 'agent' | 'thought' | 'tool' | 'plan' | 'system'
/** A whole message. `pieces` is a JSON list, oldest first. */
export interface MessageRow {
  id: number
  sessionId: number
  role: TranscriptRole
  callId: string | null
  at: string
  pieces: string
  /** JSON text: see SentAttachment. */
  attachments: string
}
/** An attachment at the time it was sent. */
export interface SentAttachment {
  id: number
  filename: string
}
/** `cardId` is null in a side session, because the card's transcript omits it. */
export interface NewMessage {
  sessionId: number
  cardId: number | null
  role: TranscriptRole
  callId?: string | null
  attachments?: readonly SentAttachment[]
}

/** Starts a message. @returns its ID, greater than all earlier ones */
export const insertMessage = async (
  tx: Transaction,
  { sessionId, cardId, role, callId, attachments = [] }: NewMessage,
): Promise<number> =>
  (
    await tx.run(
      'INSERT INTO transcript_messages (session_id, card_id, role, call_id, at, attachments) VALUES (?, ?, ?, ?, ?, ?)',
      [sessionId, cardId, role, callId, tx.now, JSON.stringify(attachments)],
    )
  ).lastId

/** Appends a piece, JSON text, to a message. */
export const insertPiece = async (tx: Transaction, messageId: number, data: string): Promise<void> => {
  tx.enqueue(
    'INSERT INTO transcript_pieces (message_id, number, data) SELECT ?1, coalesce(max(number), 0) + 1, ?2 FROM transcript_pieces WHERE message_id = ?1',
    [messageId, data],
  )
}

/** The newest message of a session for a tool call. */
export const findCall = async (db: Reader, sessionId: number, callId: string): Promise<number | undefined> =>
  (
    await db.get<{ id: number | null }>(
      'SELECT max(id) AS id FROM transcript_messages WHERE session_id = ? AND call_id = ?',
      [sessionId, callId],
    )
  )?.id ?? undefined

const fields = `m.id, m.session_id AS sessionId, m.role, m.call_id AS callId, m.at, m.attachments,
  '[' || coalesce((SELECT group_concat(data) FROM (SELECT data FROM transcript_pieces p WHERE p.message_id = m.id ORDER BY p.number)), '') || ']' AS pieces`

/** The messages with these IDs, oldest first. */
export const readMessages = (db: Reader, ids: readonly number[]): Promise<MessageRow[]> =>
  db.all(`SELECT ${fields} FROM json_each(?) j JOIN transcript_messages m ON m.id = j.value ORDER BY m.id`, [
    JSON.stringify(ids),
  ])

/** A range of messages by ID, of a session or else of a card: after `after` and before `before`. */
export interface MessageRange {
  cardId: number
  sessionId?: number
  after?: number
  before?: number
  limit: number
  /** Whether to return the messages at the end of the range instead of its start. */ fromEnd: boolean
}

/** Messages of a range, oldest first. */
export function listMessages(
  db: Reader,
  { cardId, sessionId, after = 0, before = Number.MAX_SAFE_INTEGER, limit, fromEnd }: MessageRange,
): Promise<MessageRow[]> {
  const [of, owner] = sessionId === undefined ? ['m.card_id', cardId] : ['m.session_id', sessionId]
  return db.all(
    `SELECT * FROM (SELECT ${fields} FROM transcript_messages m WHERE ${of} = ? AND m.id > ? AND m.id < ? ORDER BY m.id ${fromEnd ? 'DESC' : ''} LIMIT ?) ORDER BY id`,
    [owner, after, before, limit],
  )
}

/** The user messages that a session's agent has received, newest first, without waiting messages. */
export const listGivenMessages = (db: Reader, sessionId: number, limit: number): Promise<MessageRow[]> =>
  db.all(
    `SELECT ${fields} FROM transcript_messages m WHERE m.session_id = ?1 AND m.role = 'user'
      AND m.id NOT IN (SELECT message_id FROM waiting_messages WHERE session_id = ?1) ORDER BY m.id DESC LIMIT ?2`,
    [sessionId, limit],
  )

/** The newest message in a session with this role. */
export const newestOf = async (db: Reader, sessionId: number, role: TranscriptRole): Promise<number | undefined> =>
  (
    await db.get<{ id: number }>(
      'SELECT id FROM transcript_messages WHERE session_id = ? AND role = ? ORDER BY id DESC LIMIT 1',
      [sessionId, role],
    )
  )?.id

/** The first message of a card at or after a time. */
export const firstMessageSince = async (db: Reader, cardId: number, at: string): Promise<number | undefined> =>
  (
    await db.get<{ id: number }>(
      'SELECT id FROM transcript_messages WHERE card_id = ? AND at >= ? ORDER BY at, id LIMIT 1',
      [cardId, at],
    )
  )?.id

/** Cards that are deleted, or about to be deleted: the cards that were deleted before a time, or all cards of a project or board. */
export type GoneCards = { deletedBefore: string } | { projectId: number } | { boardId: number }

const goneSql = (of: GoneCards): readonly [sql: string, value: Value] =>
  'deletedBefore' in of
    ? ['c.deleted_at < ?', of.deletedBefore]
    : 'boardId' in of
      ? ['c.board_id = ?', of.boardId]
      : ['c.project_id = ?', of.projectId]

const messagesOf = 'agent_sessions s CROSS JOIN transcript_messages m ON m.session_id = s.id'
/** The number of messages purged per step. A message can be long. */
const stepMessages = 10

/**
 * Purges the transcripts of ended sessions of these cards, as long as the cards are deleted, in steps between which others can
 * write. Deleting a card with its whole transcript at once would block all writers.
 */
export async function purgeTranscripts(db: Database, of: GoneCards, signal?: AbortSignal): Promise<void> {
  const [gone, value] = goneSql(of)
  const cards = await db.all<{ id: number }>(
    `SELECT c.id FROM cards c WHERE ${gone} AND EXISTS (SELECT 1 FROM ${messagesOf} WHERE s.card_id = c.id AND s.ended_at IS NOT NULL)`,
    [value],
  )
  const purge = async (tx: Transaction, cardId: number) =>
    (
      await tx.run(
        `DELETE FROM transcript_messages WHERE id IN (SELECT m.id FROM cards c CROSS JOIN ${messagesOf}
         WHERE c.id = ? AND ${gone} AND s.card_id = c.id AND s.ended_at IS NOT NULL LIMIT ?)`,
        [cardId, value, stepMessages],
      )
    ).changes
  for (const { id } of cards) await inShortTransactions(db, tx => purge(tx, id), signal)
}
