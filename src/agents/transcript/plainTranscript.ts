import { createTextTail } from '../../process/textTail.ts'
import type { Reader } from '../../store/engine/database.ts'
import { listMessages } from '../../store/agents/transcripts.ts'
import { message, type MessageView } from '../../views/agents.ts'

const maxMessages = 1000
const maxBytes = 1024 * 1024

/** The end of a session's transcript as text: the agent's messages, the names of its tool calls, and the remarks of the board. */
export async function readPlainTranscript(
  db: Reader,
  session: { id: number; cardId: number },
): Promise<{ output: string; outputStart: number }> {
  const rows = await listMessages(db, { ...session, sessionId: session.id, limit: maxMessages, fromEnd: true })
  const tail = createTextTail(maxBytes)
  for (const each of rows.map(message)) {
    const text = textOf(each)
    if (text !== '') tail.add(`${text}\n`)
  }
  return tail.read()
}

function textOf({ role, content, tool }: MessageView): string {
  if (role === 'tool') return tool === null ? '' : `$ ${tool.name}`
  return role === 'agent' || role === 'system' ? content.trim() : ''
}
