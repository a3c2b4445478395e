import * as v from 'valibot'
import { Message } from './agentMessages.ts'
import { AgentSession, Permission as PermissionRequest } from './agents.ts'
import { AttachmentCreated, AttachmentDeleted } from './attachments.ts'
import { Board } from './boards.ts'
import { Budget, ReachedBudget } from './budgets.ts'
import { CardDetail } from './cardRecords.ts'
import { Column } from './columns.ts'
import { CommentDeleted, CommentWritten } from './comments.ts'
import { AccountId, ColumnType, Count, Id, Position, Time } from './fields.ts'
import { Monitor } from './monitors.ts'
import { Notification } from './notifications.ts'
import { PreviewState } from './previews.ts'
import { PullRequestOfCard } from './pullRequestRecords.ts'
import { AnsweredComment, Review } from './reviews.ts'
import type { Permission } from './route.ts'
import { Schedule } from './schedules.ts'
import { ScriptStatus } from './scripts.ts'

const Gone = v.object({ id: Id })
const Place = v.object({ columnId: Id, position: v.nullable(Position) })
/** A project's record as everybody who may see it gets it. */
const ProjectSummary = v.object({
  id: Id,
  name: v.string(),
  path: v.string(),
  organizationId: v.nullable(Id),
  ownerId: v.nullable(Id),
  createdAt: Time,
  updatedAt: Time,
})

/** A column as external routes show it: nothing of what its agents are told. */
const ColumnOutline = v.object({
  id: Id,
  name: v.string(),
  columnType: ColumnType,
  position: Position,
  boardId: Id,
})

/** The record that an event is about. Once it is gone, the event is not delivered any more. */
export type Subject =
  | 'board'
  | 'column'
  | 'card'
  | 'session'
  | 'monitor'
  | 'script'
  | 'attachment'
  | 'comment'
  | 'review'
  | 'schedule'
  | 'budget'

interface EventSpec<Data extends v.GenericSchema = v.GenericSchema> {
  data: Data
  /** What a key needs to hear it: one of these, as for reading the record. Empty: any permission that hears something of the project. */
  permissions: readonly Permission[]
  /** What a key hears of it that has this permission only. */
  outline?: { permission: Permission; data: v.GenericSchema }
  /** Which field of the data (of each element of a list) is the id of which record that must still be there when it is told afterwards. */
  about: Partial<Record<Subject, string>>
}
const event = <Data extends v.GenericSchema>(
  data: Data,
  permissions: readonly Permission[],
  about: EventSpec['about'] = {},
  outline?: EventSpec['outline'],
): EventSpec<Data> => ({ data, permissions, about, outline })
const columnEvent = <Data extends v.GenericSchema>(data: Data, outline: v.GenericSchema) =>
  event(data, ['boards.read'], { column: 'id', board: 'boardId' }, { permission: 'cards.read', data: outline })
const cardEvent = <Data extends v.GenericSchema>(data: Data) => event(data, ['cards.read'], { card: 'id' })
const agentEvent = <Entries extends v.ObjectEntries>({ entries }: { entries: Entries }) =>
  event(v.object({ ...entries, cardId: Id, cardTitle: v.nullable(v.string()) }), ['agents.read'], {
    session: 'sessionId',
  })

/**
 * Event type -> the schema of its `data`, and who hears it: a person who may see the project, and a key that holds a permission.
 * It is the permission of the routes that read the record. Boards are read with cards.read on external routes, columns there
 * in outline.
 */
export const events = {
  'project.created': event(ProjectSummary, ['projects.read']),
  'project.updated': event(ProjectSummary, ['projects.read']),
  'project.deleted': event(Gone, []),
  'board.created': event(Board, ['boards.read', 'cards.read'], { board: 'id' }),
  'board.updated': event(Board, ['boards.read', 'cards.read'], { board: 'id' }),
  'board.deleted': event(Gone, ['boards.read', 'cards.read']),
  'board.reordered': event(v.array(Board), ['boards.read', 'cards.read'], { board: 'id' }),
  'column.created': columnEvent(Column, ColumnOutline),
  'column.updated': columnEvent(Column, ColumnOutline),
  'column.deleted': event(v.object({ id: Id, boardId: Id }), ['boards.read', 'cards.read']),
  'column.reordered': columnEvent(v.array(Column), v.array(ColumnOutline)),
  'card.created': cardEvent(CardDetail),
  'card.updated': cardEvent(CardDetail),
  'card.archived': cardEvent(CardDetail),
  'card.unarchived': cardEvent(CardDetail),
  'card.restored': cardEvent(CardDetail),
  'card.completed': cardEvent(CardDetail),
  'card.merged': cardEvent(CardDetail),
  /** The last card that it waited for is done. */
  'card.ready': cardEvent(CardDetail),
  /** Somebody was assigned to it, who was not before. */
  'card.assigned': cardEvent(
    v.object({
      ...CardDetail.entries,
      assignedIds: v.array(AccountId),
      by: v.object({ userId: v.nullable(AccountId), name: v.string() }),
    }),
  ),
  'card.moved': cardEvent(v.object({ ...CardDetail.entries, from: Place, to: Place })),
  'card.deleted': event(v.object({ id: Id, columnId: Id }), ['cards.read']),
  'card.viewed': cardEvent(Gone),
  'agent.status': agentEvent(AgentSession),
  'agent.message': agentEvent(Message),
  'agent.tool': agentEvent(Message),
  'agent.plan': agentEvent(Message),
  'agent.permission': agentEvent(PermissionRequest),
  'agent.usage': agentEvent(AgentSession),
  'monitor.created': event(Monitor, ['monitors.read'], { monitor: 'id', card: 'cardId' }),
  'monitor.updated': event(Monitor, ['monitors.read'], { monitor: 'id', card: 'cardId' }),
  'monitor.deleted': event(v.object({ id: Id, cardId: Id }), ['monitors.read']),
  'schedule.created': event(Schedule, ['cards.read'], { schedule: 'id' }),
  'schedule.updated': event(Schedule, ['cards.read'], { schedule: 'id' }),
  'schedule.deleted': event(Gone, ['cards.read']),
  'script.started': event(ScriptStatus, ['scripts.read'], { script: 'scriptId' }),
  'script.finished': event(ScriptStatus, ['scripts.read'], { script: 'scriptId' }),
  'budget.created': event(Budget, ['agents.read'], { budget: 'id' }),
  'budget.updated': event(Budget, ['agents.read'], { budget: 'id' }),
  'budget.deleted': event(Gone, ['agents.read']),
  /** 80 % of it is spent. */
  'budget.warned': event(ReachedBudget, ['agents.read'], { budget: 'id' }),
  /** It is used up: what it bounds waits. */
  'budget.exhausted': event(ReachedBudget, ['agents.read'], { budget: 'id' }),
  'preview.updated': event(PreviewState, ['agents.read'], { card: 'cardId' }),
  notification: event(Notification, ['cards.read']),
  'attachment.created': event(AttachmentCreated, ['cards.read'], { attachment: 'id', card: 'cardId' }),
  'review.submitted': event(Review, ['cards.read'], { review: 'id', card: 'cardId' }),
  'review.answered': event(AnsweredComment, ['cards.read'], { review: 'reviewId', card: 'cardId' }),
  'pull_request.updated': event(PullRequestOfCard, ['cards.read'], { card: 'cardId' }),
  'attachment.deleted': event(AttachmentDeleted, ['cards.read']),
  'comment.created': event(CommentWritten, ['cards.read'], { comment: 'id', card: 'cardId' }),
  'comment.updated': event(CommentWritten, ['cards.read'], { comment: 'id', card: 'cardId' }),
  'comment.deleted': event(CommentDeleted, ['cards.read']),
} as const satisfies Record<string, EventSpec>
export type EventType = keyof typeof events
export type EventData<T extends EventType> = v.InferOutput<(typeof events)[T]['data']>
/** An event's type as data that others look things up by. */
export const eventSpec = (type: EventType): EventSpec => events[type]

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
