import type { Reader } from '../../store/engine/database.ts'
import type { SessionRow } from '../../store/agents/sessions.ts'
import {
  listGivenMessages,
  listMessages,
  newestOf,
  type MessageRow,
  type SentAttachment,
} from '../../store/agents/transcripts.ts'
import { message } from '../../views/agents.ts'

const maxLength = 16_000
const maxMessages = 50
const maxWords = 200
const maxWordsLength = 64_000

/** The last message of a session's agent, cut to its end. Empty if there is none. */
export async function readLastMessage(db: Reader, { id, cardId }: Pick<SessionRow, 'id' | 'cardId'>): Promise<string> {
  const messages = (await listMessages(db, { cardId, sessionId: id, limit: maxMessages, fromEnd: true })).map(message)
  return (
    messages
      .findLast(({ role, content }) => role === 'agent' && content.trim() !== '')
      ?.content.trim()
      .slice(-maxLength)
      .toWellFormed() ?? ''
  )
}

/**
 * The last messages to a session whose agent has shown no output since. A killed server might not have delivered them. Empty if
 * there are none.
 */
export async function readUnanswered(db: Reader, session: Pick<SessionRow, 'id' | 'cardId'>): Promise<string> {
  return (await readLatestUserMessages(db, session)).map(contentOf).join('\n\n')
}

/**
 * The messages that the successor of a session receives again, oldest first: those of the interrupted turn, without the prompt. There
 * are none if the session ended well or was cancelled.
 */
export async function readInterrupted(
  db: Reader,
  session: Pick<SessionRow, 'id' | 'cardId' | 'prompt' | 'status'>,
): Promise<Array<{ id: number; content: string; attachments: SentAttachment[] }>> {
  if (session.status === 'completed' || session.status === 'cancelled') return []
  const newest = await newestOf(db, session.id, 'user')
  if (newest === undefined) return []
  return (await readLatestUserMessages(db, session, newest + 1))
    .map(row => ({ id: row.id, content: contentOf(row), attachments: JSON.parse(row.attachments) as SentAttachment[] }))
    .filter(({ content }) => content !== session.prompt.trim())
}

/** The user messages without a later agent message, at the end of the session or before the message `before`. */
async function readLatestUserMessages(
  db: Reader,
  { id, cardId }: Pick<SessionRow, 'id' | 'cardId'>,
  before?: number,
): Promise<MessageRow[]> {
  const rows = await listMessages(db, { cardId, sessionId: id, before, limit: maxMessages, fromEnd: true })
  const conversation = rows.filter(({ role }) => role !== 'system')
  return conversation.slice(conversation.findLastIndex(({ role }) => role !== 'user') + 1)
}

const contentOf = (row: MessageRow): string => message(row).content.trim()

/**
 * Adds the context of an earlier conversation to a prompt, for an agent that does not have that conversation: the messages of
 * users, and the last message of its agent.
 * @param excludedIds the IDs of messages that the agent receives in another way
 */
export async function withResumePrompt(
  db: Reader,
  prompt: string,
  before: Pick<SessionRow, 'id' | 'cardId' | 'prompt'>,
  excludedIds: readonly number[] = [],
): Promise<string> {
  const [messages, lastMessage] = [await readUserMessages(db, before, excludedIds), await readLastMessage(db, before)]
  const parts = [
    ...(messages.length > 0 ? [`Messages from people to that agent, oldest first:\n\n${messages.join('\n\n')}`] : []),
    ...(lastMessage === '' ? [] : [`The last message of that agent:\n\n${lastMessage}`]),
  ]
  return parts.length === 0
    ? prompt
    : `${prompt}\n\nAnother agent has already worked on this task. ${parts.join('\n\n')}`
}

/** The user messages in a session, oldest first, without its prompt. If they exceed the limits, only the newest. */
async function readUserMessages(
  db: Reader,
  { id, prompt }: Pick<SessionRow, 'id' | 'prompt'>,
  excludedIds: readonly number[],
): Promise<string[]> {
  const rows = await listGivenMessages(db, id, maxWords)
  const words = rows.filter(row => !excludedIds.includes(row.id)).map(contentOf)
  let length = 0
  const kept = words.filter(each => each !== '' && each !== prompt.trim() && (length += each.length) <= maxWordsLength)
  return kept.toReversed()
}
