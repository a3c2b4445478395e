import type { InferOutput } from 'valibot'
import type { Reader } from '../store/engine/database.ts'
import {
  exportedMessages,
  exportSessions,
  sessionsWithMessages,
  type ExportMessage,
} from '../store/projects/exports.ts'
import { insertImportedMessage } from '../store/projects/imports.ts'
import { entriesOf } from '../store/engine/record.ts'
import { isSideSession } from '../store/agents/sessionPurposes.ts'
import { insertSession } from '../store/agents/sessions.ts'
import { insertWaitingMessage } from '../store/agents/waitingMessages.ts'
import { message as messageView } from '../views/agents.ts'
import { pages, part } from './part.ts'
import { Message, Session } from './records.ts'

const readSessionRecords = exportSessions(entriesOf(Session))

/** No agent can resume an imported session, because resuming requires the agent's own session ID and its files on the original machine. */
export const sessions = part({
  name: 'sessions',
  schema: Session,
  maxRecords: 1_000_000,
  read: async function* (db, scope) {
    for (const { id } of scope.projects)
      for await (const rows of pages(after => readSessionRecords(db, id, after)))
        yield rows.map(({ json, costUsd }) => `${json.slice(0, -1)},"costUsd":${JSON.stringify(costUsd)}}`)
  },
  check: (record, known) => {
    known.find('cards', record.cardId, 'cardId')
    known.add('sessions', record.id, record.cardId)
  },
  write: async (tx, { id, ...session }, made) => {
    const card = made.rows.cards.get(session.cardId)
    if (!card) return
    const wasOpen = session.endedAt === null
    const sessionId = await insertSession(tx, {
      ...session,
      cardId: card.id,
      projectId: card.projectId,
      ...(wasOpen && { status: 'interrupted', statusReason: 'server_restart', endedAt: made.exportedAt }),
    })
    made.rows.sessions.set(id, { id: sessionId, cardId: card.id, isSide: isSideSession(session.purpose) })
  },
})

export const messages = part({
  name: 'messages',
  schema: Message,
  maxRecords: 10_000_000,
  read: async function* (db, scope) {
    for (const { id } of scope.projects)
      for await (const withMessages of pages(after => sessionsWithMessages(db, id, after)))
        for (const session of withMessages) yield* messagesOf(db, session.id)
  },
  check: (record, known) => {
    known.find('sessions', record.sessionId, 'sessionId')
    if (record.waitingSessionId !== null) known.find('sessions', record.waitingSessionId, 'waitingSessionId')
    if ((record.role === 'tool') !== (record.tool !== null))
      known.addError(
        'tool',
        record.role === 'tool' ? "is required for a tool's message" : "applies only to a tool's message",
      )
  },
  write: async (tx, record, made) => {
    const session = made.rows.sessions.get(record.sessionId)
    if (!session) return
    const { role, callId, at } = record
    const messageId = await insertImportedMessage(tx, {
      sessionId: session.id,
      cardId: session.isSide ? null : session.cardId,
      role,
      callId,
      at,
      attachments: record.attachments.flatMap(({ id, filename }) => {
        const attachment = made.rows.attachments.get(id)
        return attachment ? [{ id: attachment.id, filename }] : []
      }),
      piece: pieceOf(record),
    })
    const waiting = record.waitingSessionId === null ? undefined : made.rows.sessions.get(record.waitingSessionId)
    if (waiting) await insertWaitingMessage(tx, { sessionId: waiting.id, content: record.content, messageId })
  },
})

async function* messagesOf(db: Reader, sessionId: number): AsyncGenerator<string[]> {
  for await (const rows of pages(after => exportedMessages(db, sessionId, after))) yield rows.map(recordOf)
}

/** A message as people read it, combined from its pieces. */
function recordOf(row: ExportMessage): string {
  const { role, content, tool, at } = messageView(row)
  return JSON.stringify({
    sessionId: row.sessionId,
    role,
    callId: row.callId,
    at,
    content,
    tool,
    ...(row.attachments !== '[]' && { attachments: JSON.parse(row.attachments) as unknown }),
    waitingSessionId: row.waitingSessionId,
  })
}

const pieceOf = ({ content, tool }: InferOutput<typeof Message>) =>
  JSON.stringify(tool ? { ...tool, content } : content)
