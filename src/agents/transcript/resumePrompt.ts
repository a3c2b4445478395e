import type { Reader } from '../../store/database.ts'
import type { SessionRow } from '../../store/sessions.ts'
import { listMessages } from '../../store/transcripts.ts'
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
export async function readUnanswered(db: Reader, { id, cardId }: Pick<SessionRow, 'id' | 'cardId'>): Promise<string> {
  const rows = await listMessages(db, { cardId, sessionId: id, limit: maxMessages, fromEnd: true })
  const said = rows.filter(({ role }) => role !== 'system')
  const from = said.findLastIndex(({ role }) => role !== 'user') + 1
  return said
    .slice(from)
    .map(row => message(row).content.trim())
    .join('\n\n')
}

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
