import type { Reader } from '../../store/database.ts'
import type { SessionRow } from '../../store/sessions.ts'
import { listMessages, newestOf, type MessageRow, type SentAttachment } from '../../store/transcripts.ts'
import { message } from '../../views/agents.ts'

const maxLength = 16_000
const maxMessages = 50

/** The last message of a session's agent, cut to its end; empty when there is none. */
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
 * What a session was told last, where nothing of its agent is known since: a server that was killed may have kept it from the agent. Empty
 * when there is none.
 */
export async function readUnanswered(db: Reader, session: Pick<SessionRow, 'id' | 'cardId'>): Promise<string> {
  return (await readTold(db, session)).map(contentOf).join('\n\n')
}

/** The messages that a session was told last beside its prompt, oldest first, whatever its agent has said since. */
export async function readToldLast(
  db: Reader,
  session: Pick<SessionRow, 'id' | 'cardId' | 'prompt'>,
): Promise<Array<{ content: string; attachments: SentAttachment[] }>> {
  const newest = await newestOf(db, session.id, 'user')
  if (newest === undefined) return []
  return (await readTold(db, session, newest + 1))
    .map(row => ({ content: contentOf(row), attachments: JSON.parse(row.attachments) as SentAttachment[] }))
    .filter(({ content }) => content !== session.prompt.trim())
}

/** The messages to a session's agent in a row at its end, or right before a message. */
async function readTold(
  db: Reader,
  { id, cardId }: Pick<SessionRow, 'id' | 'cardId'>,
  before?: number,
): Promise<MessageRow[]> {
  const rows = await listMessages(db, { cardId, sessionId: id, before, limit: maxMessages, fromEnd: true })
  const said = rows.filter(({ role }) => role !== 'system')
  return said.slice(said.findLastIndex(({ role }) => role !== 'user') + 1)
}

const contentOf = (row: MessageRow): string => message(row).content.trim()

/** A prompt with the last message of an earlier session, for an agent that does not know that session. */
export async function withResumePrompt(
  db: Reader,
  prompt: string,
  before: Pick<SessionRow, 'id' | 'cardId'>,
): Promise<string> {
  const lastMessage = await readLastMessage(db, before)
  return lastMessage === ''
    ? prompt
    : `${prompt}\n\nSomebody has worked on this before you. They ended with these words:\n\n${lastMessage}`
}
