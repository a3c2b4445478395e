import * as v from 'valibot'
import { Message } from '../agents/agentMessages.ts'
import { AgentSession, Permission as PermissionRequest } from '../agents/agents.ts'
import { AttachmentCreated, AttachmentDeleted } from '../cards/attachments.ts'
import { Board } from '../boards/boards.ts'
import { Budget, ReachedBudget } from '../agents/budgets.ts'
import { CardDetail } from '../cards/cardRecords.ts'
import { Column } from '../boards/columns.ts'
import { CommentDeleted, CommentWritten } from '../cards/comments.ts'
import { AccountId, ColumnType, Count, Id, Position, Time } from '../fields.ts'
import { Monitor } from '../automation/monitors.ts'
import { Notification } from '../automation/notifications.ts'
import { PreviewState } from '../automation/previews.ts'
import { PullRequestOfCard } from '../forges/pullRequestRecords.ts'
import { AnsweredComment, Review } from '../forges/reviews.ts'
import type { Permission } from '../route.ts'
import { Schedule } from '../automation/schedules.ts'
import { ScriptStatus } from '../automation/scripts.ts'
import { Gate } from '../boards/gates.ts'
import { Proof } from '../cards/proofs.ts'
import { Landing, LandingPause } from '../forges/landings.ts'

const OnlyId = v.object({ id: Id })
const Place = v.object({ columnId: Id, position: v.nullable(Position) })
/** The view of a project for all who can see it. */
const ProjectSummary = v.object({
  id: Id,
  name: v.string(),
  path: v.string(),
  organizationId: v.nullable(Id),
  ownerId: v.nullable(Id),
  createdAt: Time,
  updatedAt: Time,
})

/** A column on external routes, without the prompts of its agents. */
const ColumnOutline = v.object({
  id: Id,
  name: v.string(),
  columnType: ColumnType,
  position: Position,
  boardId: Id,
})

/** The record that an event is about. Once the record is deleted, the event is no longer delivered. */
export type Subject =
  | 'board'
  | 'column'
  | 'card'
  | 'session'
  | 'monitor'
  | 'script'
  | 'gate'
  | 'proof'
  | 'landing'
  | 'attachment'
  | 'comment'
  | 'review'
  | 'schedule'
  | 'budget'

interface EventSpec<Data extends v.GenericSchema = v.GenericSchema> {
  data: Data
  /**
   * The permissions of which a key needs one to receive the event. If empty, any permission that receives events of the project
   * suffices.
   */
  permissions: readonly Permission[]
  /** The data that a key receives if it has only this permission. */
  outline?: { permission: Permission; data: v.GenericSchema }
  /**
   * The records that the event is about, each with the field that contains its ID in the data, or in each element of a list. They
   * must still exist when the event is delivered later.
   */
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
 * Maps each event type to the schema of its `data` and the permissions of its recipients. Users who can see the project always receive the
 * event. A key requires the permission of the routes that read the record. As on external routes, `cards.read` includes boards, and columns
 * in outline.
 */
export const events = {
  'project.created': event(ProjectSummary, ['projects.read']),
  'project.updated': event(ProjectSummary, ['projects.read']),
  'project.deleted': event(OnlyId, []),
  'board.created': event(Board, ['boards.read', 'cards.read'], { board: 'id' }),
  'board.updated': event(Board, ['boards.read', 'cards.read'], { board: 'id' }),
  'board.deleted': event(OnlyId, ['boards.read', 'cards.read']),
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
  /** The last blocker of the card is done. */
  'card.ready': cardEvent(CardDetail),
  /** The card got a new assignee. */
  'card.assigned': cardEvent(
    v.object({
      ...CardDetail.entries,
      assignedIds: v.array(AccountId),
      by: v.object({ userId: v.nullable(AccountId), name: v.string() }),
    }),
  ),
  'card.moved': cardEvent(v.object({ ...CardDetail.entries, from: Place, to: Place })),
  'card.deleted': event(v.object({ id: Id, columnId: Id }), ['cards.read']),
  'card.viewed': cardEvent(OnlyId),
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
  'schedule.deleted': event(OnlyId, ['cards.read']),
  'script.started': event(ScriptStatus, ['scripts.read'], { script: 'scriptId' }),
  'script.finished': event(ScriptStatus, ['scripts.read'], { script: 'scriptId' }),
  'gate.created': event(Gate, ['boards.read'], { gate: 'id' }),
  'gate.updated': event(Gate, ['boards.read'], { gate: 'id' }),
  'gate.deleted': event(OnlyId, ['boards.read']),
  'proof.updated': event(Proof, ['agents.read'], { proof: 'id', card: 'cardId' }),
  'landing.updated': event(Landing, ['agents.read'], { landing: 'id', card: 'cardId' }),
  'landing.paused': event(LandingPause, ['agents.read']),
  'budget.created': event(Budget, ['agents.read'], { budget: 'id' }),
  'budget.updated': event(Budget, ['agents.read'], { budget: 'id' }),
  'budget.deleted': event(OnlyId, ['agents.read']),
  /** 80% of the budget is spent. */
  'budget.warned': event(ReachedBudget, ['agents.read'], { budget: 'id' }),
  /** The budget is exhausted, and the work under it waits. */
  'budget.exhausted': event(ReachedBudget, ['agents.read'], { budget: 'id' }),
  'preview.updated': event(PreviewState, ['agents.read'], { card: 'cardId' }),
  notification: event(Notification, ['cards.read']),
  /** The inbox of the user has changed, or might have. It goes to all sockets of the user, except those of API keys. */
  'inbox.updated': event(v.object({ userId: AccountId }), ['cards.read']),
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
/** The specification of an event type, without the type of its data. */
export const eventSpec = (type: EventType): EventSpec => events[type]

/** The socket message of an event. `seq` increases without gaps in one database. */
export interface EventMessage<T extends EventType = EventType> {
  type: T
  data: EventData<T>
  seq: number
  projectId: string | null
  at: string
}

/** The messages that a client can send over the socket. */
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
