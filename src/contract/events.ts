import * as v from 'valibot'
import { AgentSession, Message, Permission } from './agents.ts'
import { Attachment } from './attachments.ts'
import { Board } from './boards.ts'
import { CardDetail } from './cards.ts'
import { Column } from './columns.ts'
import { Count, Id, Position, Time } from './fields.ts'
import { Monitor } from './monitors.ts'
import { Notification } from './notifications.ts'
import { ScriptStatus } from './scripts.ts'

const Gone = v.object({ id: Id })
const Place = v.object({ columnId: Id, position: v.nullable(Position) })
/** A project's record as everybody who may see it gets it. */
const ProjectNews = v.object({
  id: Id,
  name: v.string(),
  path: v.string(),
  organizationId: v.nullable(Id),
  ownerId: v.nullable(Id),
  createdAt: Time,
  updatedAt: Time,
})

/** Event type -> the schema of its `data`. */
export const events = {
  'project.created': ProjectNews,
  'project.updated': ProjectNews,
  'project.deleted': Gone,
  'board.created': Board,
  'board.updated': Board,
  'board.deleted': Gone,
  'board.reordered': v.array(Board),
  'column.created': Column,
  'column.updated': Column,
  'column.deleted': v.object({ id: Id, boardId: Id }),
  'column.reordered': v.array(Column),
  'card.created': CardDetail,
  'card.updated': CardDetail,
  'card.archived': CardDetail,
  'card.unarchived': CardDetail,
  'card.restored': CardDetail,
  'card.completed': CardDetail,
  'card.moved': v.object({ ...CardDetail.entries, from: Place, to: Place }),
  'card.deleted': v.object({ id: Id, columnId: Id }),
  'card.viewed': Gone,
  'agent.status': AgentSession,
  'agent.message': Message,
  'agent.tool': Message,
  'agent.plan': Message,
  'agent.permission': Permission,
  'agent.usage': AgentSession,
  'monitor.created': Monitor,
  'monitor.updated': Monitor,
  'monitor.deleted': v.object({ id: Id, cardId: Id }),
  'script.started': ScriptStatus,
  'script.finished': ScriptStatus,
  notification: Notification,
  'attachment.created': Attachment,
  'attachment.deleted': v.object({ id: Id, cardId: Id }),
} as const
export type EventType = keyof typeof events
export type EventData<T extends EventType> = v.InferOutput<(typeof events)[T]>

/** What the server sends over the socket for an event. `seq` grows without holes in one database. */
export interface EventMessage<T extends EventType = EventType> {
  type: T
  data: EventData<T>
  seq: number
  projectId: string | null
  at: string
}

/** What a client may send over the socket. */
export const ClientMessage = v.variant('type', [
  v.strictObject({
    type: v.literal('subscribe'),
    payload: v.strictObject({ projectId: v.union([Id, v.pipe(v.number(), v.integer())]), since: v.optional(Count) }),
  }),
  v.strictObject({
    type: v.literal('unsubscribe'),
    payload: v.strictObject({ projectId: v.union([Id, v.pipe(v.number(), v.integer())]) }),
  }),
  v.strictObject({ type: v.literal('ping'), payload: v.optional(v.unknown()) }),
])
export type ClientMessage = v.InferOutput<typeof ClientMessage>
