import type { Transaction } from '../../../store/engine/database.ts'
import type { SessionRow } from '../../../store/agents/sessions.ts'
import type { SentAttachment } from '../../../store/agents/transcripts.ts'
import { insertWaitingMessage, moveWaitingMessages } from '../../../store/agents/waitingMessages.ts'
import type { MessageView } from '../../../views/agents.ts'
import { readInterrupted, withResumePrompt } from '../../transcript/resumePrompt.ts'
import { addMessage } from '../../transcript/transcriptWriter.ts'

/** Adds a message to a session's transcript and queues it for the agent. */
export async function queueMessage(
  tx: Transaction,
  session: SessionRow,
  content: string,
  given: readonly SentAttachment[] = [],
): Promise<MessageView> {
  const view = await addMessage(tx, { ...session, isPre: session.purpose === 'pre' }, 'user', content, given)
  await insertWaitingMessage(tx, { sessionId: session.id, content, messageId: Number(view.id) })
  return view
}

/** The prompt of a session that replaces another one and then takes over its messages with `handOver`. */
export async function promptAfter(tx: Transaction, prompt: string, before: SessionRow): Promise<string> {
  const retold = await readInterrupted(tx, before)
  return withResumePrompt(
    tx,
    prompt,
    before,
    retold.map(({ id }) => id),
  )
}

/**
 * Hands the messages of a session over to a new one, whose agent does not have the earlier conversation. The messages of an
 * interrupted turn come first, then the waiting ones. Cancelled messages are dropped.
 */
export async function handOver(tx: Transaction, before: SessionRow, begun: SessionRow): Promise<void> {
  for (const { content, attachments } of await readInterrupted(tx, before))
    await queueMessage(tx, begun, content, attachments)
  await moveWaitingMessages(tx, before.id, begun.id)
}
