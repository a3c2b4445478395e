import type { Reader } from '../../store/engine/database.ts'
import { firstMessageSince, listMessages } from '../../store/agents/transcripts.ts'
import { message, type MessageView } from '../../views/agents.ts'

/**
 * `since` and `before` are ISO 8601 times, compared with when a message began, or IDs of messages. A time in `since` is
 * inclusive, an ID exclusive.
 */
export interface MessageQuery {
  cardId: number
  sessionId?: number
  since?: string | number
  before?: string | number
  limit: number
}

/**
 * Returns at most `limit` messages of a card, or of one of its sessions, oldest first. With `since`, the first messages after
 * it. Otherwise, the last messages (before `before`).
 */
export async function queryMessages(
  db: Reader,
  { cardId, sessionId, since, before, limit }: MessageQuery,
): Promise<MessageView[]> {
  const after = typeof since === 'string' ? (await firstIdAt(db, cardId, since)) - 1 : since
  const end = typeof before === 'string' ? await firstIdAt(db, cardId, before) : before
  return (await listMessages(db, { cardId, sessionId, after, before: end, limit, fromEnd: since === undefined })).map(
    message,
  )
}

const firstIdAt = async (db: Reader, cardId: number, at: string) =>
  (await firstMessageSince(db, cardId, new Date(at).toISOString())) ?? Number.MAX_SAFE_INTEGER
