import { appendAgentEvent } from '../../events/agentEvent.ts'
import type { Database, Transaction } from '../../store/engine/database.ts'
import { writeWithRetry } from '../../store/engine/retry.ts'
import { isSideSession, type SessionPurpose } from '../../store/agents/sessionPurposes.ts'
import {
  addSessionCounts,
  readSession,
  updateSession,
  writeAnnouncedCommands,
  type SessionRow,
} from '../../store/agents/sessions.ts'
import {
  findCall,
  insertMessage,
  insertPiece,
  readMessages,
  type SentAttachment,
  type TranscriptRole,
} from '../../store/agents/transcripts.ts'
import { agentSession, message, type MessageView } from '../../views/agents.ts'
import type { PendingBatch, PendingMessage } from './pendingMessages.ts'

/** The session of a transcript. The messages of a side session are not listed with the card's messages. */
export interface TranscriptSession {
  id: number
  projectId: number
  cardId: number
  agent: string
  purpose: SessionPurpose
}

export const transcriptOf = ({ id, projectId, cardId, agent, purpose }: SessionRow): TranscriptSession => ({
  id,
  projectId,
  cardId,
  agent,
  purpose,
})

/**
 * Writes a batch and its events in one transaction, retried while the database is busy or the disk full. Each message has one
 * event, with the state after the batch.
 */
export async function writeBatch(db: Database, session: TranscriptSession, batch: PendingBatch): Promise<void> {
  const write = async (tx: Transaction) => {
    const written = await writeMessages(tx, session, batch.messages)
    if (batch.usage) await writeUsage(tx, session, batch.usage)
    if (batch.commands)
      await writeAnnouncedCommands(tx, session.projectId, session.agent, JSON.stringify(batch.commands.commands))
    return written
  }
  const ids = await writeWithRetry(db, write, () => {})
  batch.messages.forEach((message, at) => Object.assign(message, { id: ids[at], writing: undefined }))
}

/** Adds a complete message, such as a user's, in the transaction that causes it. */
export async function addMessage(
  tx: Transaction,
  session: TranscriptSession,
  role: Extract<TranscriptRole, 'user' | 'system'>,
  content: string,
  attachments: readonly SentAttachment[] = [],
): Promise<MessageView> {
  const id = await insertMessage(tx, { ...newMessage(session, role), attachments })
  await insertPiece(tx, id, JSON.stringify(content))
  await addSessionCounts(tx, session.id, { messages: 1, tools: 0 })
  const [view] = await announce(tx, session, [id])
  return view!
}

async function writeMessages(
  tx: Transaction,
  session: TranscriptSession,
  pending: readonly PendingMessage[],
): Promise<number[]> {
  const added = { messages: 0, tools: 0 }
  const ids: number[] = []
  for (const { id: known, role, callId, mayContinue, writing } of pending) {
    let id = known ?? (mayContinue ? await findCall(tx, session.id, callId!) : undefined)
    if (id === undefined) {
      id = await insertMessage(tx, { ...newMessage(session, role), callId })
      added[role === 'tool' ? 'tools' : 'messages']++
    }
    await insertPiece(tx, id, JSON.stringify(writing))
    ids.push(id)
  }
  if (added.messages + added.tools > 0) await addSessionCounts(tx, session.id, added)
  await announce(tx, session, ids)
  return ids
}

async function announce(tx: Transaction, session: TranscriptSession, ids: readonly number[]): Promise<MessageView[]> {
  const views = (await readMessages(tx, [...new Set(ids)])).map(message)
  for (const view of views)
    await appendAgentEvent(
      tx,
      view.role === 'tool' ? 'agent.tool' : view.role === 'plan' ? 'agent.plan' : 'agent.message',
      session,
      view,
    )
  return views
}

async function writeUsage(
  tx: Transaction,
  { id }: TranscriptSession,
  { contextUsed, contextSize }: NonNullable<PendingBatch['usage']>,
): Promise<void> {
  if (contextUsed === null && contextSize === null) return
  await updateSession(tx, id, {
    ...(contextUsed !== null && { contextUsed }),
    ...(contextSize !== null && { contextSize }),
  })
  const session = await readSession(tx, id)
  if (session) await appendAgentEvent(tx, 'agent.usage', session, agentSession(session))
}

const newMessage = ({ id, cardId, purpose }: TranscriptSession, role: TranscriptRole) => ({
  sessionId: id,
  cardId: isSideSession(purpose) ? null : cardId,
  role,
})
