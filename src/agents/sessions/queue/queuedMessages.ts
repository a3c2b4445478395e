import type { Transaction } from '../../../store/engine/database.ts'
import type { SessionRow } from '../../../store/agents/sessions.ts'
import type { SentAttachment } from '../../../store/agents/transcripts.ts'
import { insertWaitingMessage, moveWaitingMessages } from '../../../store/agents/waitingMessages.ts'
import type { MessageView } from '../../../views/agents.ts'
import { readInterrupted, withResumePrompt } from '../../transcript/resumePrompt.ts'
import { addMessage, transcriptOf } from '../../transcript/transcriptWriter.ts'

/** Adds a message to a session's transcript and queues it for the agent. */
export async function queueMessage(
  tx: Transaction,
  session: SessionRow,
  content: string,
  attachments: readonly SentAttachment[] = [],
): Promise<MessageView> {
  const view = await addMessage(tx, transcriptOf(session), 'user', content, attachments)
  await insertWaitingMessage(tx, { sessionId: session.id, content, messageId: Number(view.id) })
  return view
}

/** The prompt of a session that replaces another one. Contains the conversation, except messages that `handOver` queues. */
export async function promptAfter(tx: Transaction, prompt: string, predecessor: SessionRow): Promise<string> {
  const interrupted = await readInterrupted(tx, predecessor)
  return withResumePrompt(
    tx,
    prompt,
    predecessor,
    interrupted.map(({ id }) => id),
  )
}

/**
 * Queues the unanswered messages of a session for its successor: the messages of an interrupted turn, then the waiting ones.
 * Cancelled messages are dropped.
 */
export async function handOver(tx: Transaction, predecessor: SessionRow, successor: SessionRow): Promise<void> {
  for (const { content, attachments } of await readInterrupted(tx, predecessor))
    await queueMessage(tx, successor, content, attachments)
  await moveWaitingMessages(tx, predecessor.id, successor.id)
}
