import type { Reader } from '../../store/database.ts'
import { firstMessageSince, listMessages } from '../../store/transcripts.ts'
import { message, type MessageView } from '../../views/agents.ts'

/** `since` and `before` are ISO 8601 times or ids of messages. A time is where a message began; `since` a time takes in that moment, `since` an id what came after it. */
export interface MessageQuery {
  cardId: number
  sessionId?: number
  since?: string | number
  before?: string | number
  limit: number
}

/**
 * At most `limit` messages of a card, or of one of its sessions, oldest first: the first ones after `since`;
 * without it the last ones, before `before` if it is given.
 */
export async function messagesOf(
  db: Reader,
  { cardId, sessionId, since, before, limit }: MessageQuery,
): Promise<MessageView[]> {
  const after = typeof since === 'string' ? (await startOf(db, cardId, since)) - 1 : since
  const end = typeof before === 'string' ? await startOf(db, cardId, before) : before
  return (await listMessages(db, { cardId, sessionId, after, before: end, limit, fromEnd: since === undefined })).map(
    message,
  )
}

const startOf = async (db: Reader, cardId: number, at: string) =>
  (await firstMessageSince(db, cardId, new Date(at).toISOString())) ?? Number.MAX_SAFE_INTEGER
