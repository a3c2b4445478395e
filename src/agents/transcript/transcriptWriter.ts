import { append } from '../../events/outbox.ts'
import type { Database, Transaction } from '../../store/database.ts'
import { addSessionCounts, readSession, updateSession, writeAnnouncedCommands } from '../../store/sessions.ts'
import { findCall, insertMessage, insertPiece, readMessages, type TranscriptRole } from '../../store/transcripts.ts'
import { agentSession, message, type MessageView } from '../../views/agents.ts'
import type { Batch, Draft } from './pendingMessages.ts'
import { hideSecrets } from '../link/redactSecrets.ts'

/** Whose transcript it is. `isPre`: of a pre-session, whose messages the card's own list leaves out. */
export interface TranscriptSession {
  id: number
  projectId: number
  cardId: number
  agent: string
  isPre?: boolean
}

/** Writes a batch in one transaction with the events that tell of it: one for each message, as it is after the batch. */
export async function writeBatch(
  db: Database,
  session: TranscriptSession,
  batch: Batch,
  secrets: readonly string[],
): Promise<void> {
  const ids = await db.transaction(async tx => {
    const written = await writeMessages(tx, session, batch.messages, secrets)
    if (batch.usage) await writeUsage(tx, session, batch.usage)
    if (batch.commands)
      await writeAnnouncedCommands(tx, session.projectId, session.agent, JSON.stringify(batch.commands.commands))
    return written
  })
  batch.messages.forEach((draft, at) => Object.assign(draft, { id: ids[at], writing: undefined }))
}

/** Adds a message that nobody goes on with, such as a person's, in the transaction of its cause. */
export async function addMessage(
  tx: Transaction,
  session: TranscriptSession,
  role: Extract<TranscriptRole, 'user' | 'system'>,
  content: string,
): Promise<MessageView> {
  const id = await insertMessage(tx, newMessage(session, role))
  await insertPiece(tx, id, JSON.stringify(content))
  await addSessionCounts(tx, session.id, { messages: 1, tools: 0 })
  const [view] = await announce(tx, session, [id])
  return view!
}

async function writeMessages(
  tx: Transaction,
  session: TranscriptSession,
  drafts: readonly Draft[],
  secrets: readonly string[],
): Promise<number[]> {
  const added = { messages: 0, tools: 0 }
  const ids: number[] = []
  for (const { id: known, role, callId, mayGoOn, writing } of drafts) {
    let id = known ?? (mayGoOn ? await findCall(tx, session.id, callId!) : undefined)
    if (id === undefined) {
      id = await insertMessage(tx, { ...newMessage(session, role), callId })
      added[role === 'tool' ? 'tools' : 'messages']++
    }
    await insertPiece(tx, id, hideSecrets(JSON.stringify(writing), secrets))
    ids.push(id)
  }
  if (added.messages + added.tools > 0) await addSessionCounts(tx, session.id, added)
  await announce(tx, session, ids)
  return ids
}

async function announce(
  tx: Transaction,
  { projectId }: TranscriptSession,
  ids: readonly number[],
): Promise<MessageView[]> {
  const views = (await readMessages(tx, [...new Set(ids)])).map(message)
  for (const view of views)
    await append(
      tx,
      view.role === 'tool' ? 'agent.tool' : view.role === 'plan' ? 'agent.plan' : 'agent.message',
      projectId,
      view,
    )
  return views
}

async function writeUsage(
  tx: Transaction,
  { id, projectId }: TranscriptSession,
  { contextUsed, contextSize, costUsd }: NonNullable<Batch['usage']>,
): Promise<void> {
  await updateSession(tx, id, {
    ...(contextUsed !== null && { contextUsed }),
    ...(contextSize !== null && { contextSize }),
    ...(costUsd !== null && { costUsd }),
  })
  const session = await readSession(tx, id)
  if (session) await append(tx, 'agent.usage', projectId, agentSession(session))
}

const newMessage = ({ id, cardId, isPre }: TranscriptSession, role: TranscriptRole) => ({
  sessionId: id,
  cardId: isPre ? null : cardId,
  role,
})
