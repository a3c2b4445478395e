import type { Reader } from '../../store/database.ts'
import type { SessionRow } from '../../store/sessions.ts'
import { listMessages } from '../../store/transcripts.ts'
import { message } from '../../views/agents.ts'

const mostLength = 16_000
const mostMessages = 50

/** The last thing that a session's agent said, cut to its end; empty when it said nothing. */
export async function lastMessageOf(db: Reader, { id, cardId }: Pick<SessionRow, 'id' | 'cardId'>): Promise<string> {
  const messages = (await listMessages(db, { cardId, sessionId: id, limit: mostMessages, fromEnd: true })).map(message)
  return (
    messages
      .findLast(({ role, content }) => role === 'agent' && content.trim() !== '')
      ?.content.trim()
      .slice(-mostLength)
      .toWellFormed() ?? ''
  )
}

/** A prompt for an agent that takes over from an earlier session which it does not know. */
export async function withRecap(
  db: Reader,
  prompt: string,
  before: Pick<SessionRow, 'id' | 'cardId'>,
): Promise<string> {
  const words = await lastMessageOf(db, before)
  return words === ''
    ? prompt
    : `${prompt}\n\nSomebody has worked on this before you. They ended with these words:\n\n${words}`
}
