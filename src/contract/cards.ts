import * as v from 'valibot'
import {
  AgentId,
  CardKind,
  CardStatus,
  ColumnType,
  Count,
  Id,
  Labels,
  limit,
  Name,
  Position,
  Prompt,
  queryBoolean,
  queryInteger,
  Ref,
  text,
  Time,
  Title,
} from './fields.ts'
import { ofCard, ofProject } from './notFound.ts'
import { del, get, manager, member, patch, post, put, viewer } from './route.ts'

export const LastAction = v.nullable(v.object({ type: v.string(), at: Time, detail: v.nullable(v.string()) }))
export const Lock = v.object({ kind: v.string(), holder: v.string(), acquiredAt: Time })

/** A card as lists show it. */
export const CardItem = v.object({
  id: Id,
  projectId: Id,
  boardId: Id,
  columnId: Id,
  columnName: v.string(),
  groupId: v.nullable(v.string()),
  title: Title,
  labels: Labels,
  kind: CardKind,
  status: CardStatus,
  statusReason: v.nullable(v.string()),
  position: v.nullable(Position),
  unread: v.boolean(),
  deferred: v.boolean(),
  autoMode: v.boolean(),
  hasActiveAgent: v.boolean(),
  archivedAt: v.nullable(Time),
  createdAt: Time,
  updatedAt: Time,
  version: Count,
})
/** A card whole. Without the server's path of a worktree the board made: that stays with the server. */
export const CardDetail = v.object({
  ...CardItem.entries,
  columnType: ColumnType,
  prompt: Prompt,
  agent: v.nullable(v.string()),
  command: v.nullable(v.string()),
  useWorktree: v.boolean(),
  gitBranch: v.nullable(v.string()),
  worktreePath: v.nullable(v.string()),
  lastAgentAction: LastAction,
  startedAt: v.nullable(Time),
  endedAt: v.nullable(Time),
  locks: v.array(Lock),
  sessions: v.array(
    v.object({
      id: Id,
      agent: v.string(),
      status: CardStatus,
      startedAt: Time,
      endedAt: v.nullable(Time),
      summary: v.nullable(v.string()),
    }),
  ),
})
const Step = v.object({
  columnId: Id,
  columnName: v.string(),
  prompt: v.string(),
  approval: v.picklist(['auto', 'manual']),
})
export const Pipeline = v.object({ steps: v.array(Step) })

const ListCards = v.strictObject({
  boardId: v.optional(Ref),
  columnId: v.optional(Ref),
  status: v.optional(CardStatus),
  label: v.optional(text(1, 100)),
  search: v.optional(text(1, 200)),
  archived: v.optional(queryBoolean, false),
  kind: v.optional(v.picklist(['kanban', 'terminal'], 'must be kanban or terminal')),
  limit: limit(1000, 1000),
  cursor: v.optional(queryInteger(0)),
  offset: v.optional(queryInteger(0)),
})
const UpdateCard = v.strictObject({
  title: v.optional(Title),
  prompt: v.optional(Prompt),
  labels: v.optional(Labels),
  groupId: v.optional(v.nullable(Name)),
  useWorktree: v.optional(v.boolean()),
  agent: v.optional(v.nullable(AgentId)),
})
/** With `mustStart` a move that cannot start the card's agent moves nothing. */
const MoveCard = v.strictObject({
  columnId: Ref,
  position: v.optional(Position),
  mustStart: v.optional(v.boolean(), false),
})
const DeleteCard = v.strictObject({ force: v.optional(queryBoolean, false) })
const SetPipeline = v.strictObject({
  steps: v.pipe(
    v.array(
      v.strictObject({
        columnId: Ref,
        columnName: v.optional(Name),
        prompt: v.optional(Prompt),
        approval: v.optional(v.picklist(['auto', 'manual'], 'must be auto or manual'), 'auto'),
      }),
    ),
    v.maxLength(100),
  ),
})
const AttachWorktree = v.strictObject({ path: text(1, 4096) })
const Command = v.pipe(
  text(1, 4096),
  v.check(value => value.trim() !== '', 'must not be blank'),
)
/** With `mustStart` a card that cannot be started is not made. */
const CreateCard = v.strictObject({
  projectId: Ref,
  title: Title,
  prompt: v.optional(Prompt, ''),
  columnId: v.optional(Ref),
  labels: v.optional(Labels, []),
  groupId: v.optional(v.nullable(Name), null),
  useWorktree: v.optional(v.boolean(), true),
  deferred: v.optional(v.boolean(), false),
  mustStart: v.optional(v.boolean(), false),
  autoMode: v.optional(v.boolean(), false),
  agent: v.optional(v.nullable(AgentId), null),
  kind: v.optional(v.picklist(['kanban', 'terminal'], 'must be kanban or terminal'), 'kanban'),
  command: v.optional(Command),
})

export const cards = {
  list: get('/api/projects/{projectId}/cards', {
    fails: ['COLUMN_NOT_FOUND'],
    notFound: ofProject,
    who: viewer('cards.read'),
    summary: "List a project's cards: by id after cursor, or one column in order from offset",
    input: ListCards,
    output: v.array(CardItem),
  }),
  get: get('/api/projects/{projectId}/cards/{cardId}', {
    notFound: ofCard,
    who: viewer('cards.read'),
    summary: 'Read a card',
    output: CardDetail,
  }),
  update: patch('/api/projects/{projectId}/cards/{cardId}', {
    notFound: ofCard,
    who: member('cards.update'),
    summary: 'Change a card',
    ifMatch: true,
    input: UpdateCard,
    output: CardDetail,
    emits: ['card.updated'],
  }),
  delete: del('/api/projects/{projectId}/cards/{cardId}', {
    notFound: ofCard,
    audited: { target: 'card', detail: ['force'] },
    at: 'machine',
    who: member('cards.delete'),
    fails: ['WORKTREE_DIRTY', 'AGENT_ALREADY_RUNNING'],
    summary: 'Delete a card; it can be restored for 30 days',
    input: DeleteCard,
    emits: ['card.deleted'],
  }),
  restore: post('/api/projects/{projectId}/cards/{cardId}/restore', {
    notFound: ofCard,
    who: member('cards.delete'),
    summary: 'Restore a deleted card',
    output: CardDetail,
    emits: ['card.restored'],
  }),
  view: post('/api/projects/{projectId}/cards/{cardId}/view', {
    notFound: ofCard,
    who: viewer('cards.read'),
    summary: 'Mark a card as read',
    emits: ['card.viewed'],
  }),
  move: patch('/api/projects/{projectId}/cards/{cardId}/move', {
    fails: ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
    notFound: ofCard,
    audited: { target: 'card', only: 'starts', detail: ['columnId'] },
    at: 'machine or here',
    who: member('cards.move'),
    ifMatch: true,
    summary: 'Move a card; into an active column that starts its agent, for a key with agents.run or scripts.run only',
    input: MoveCard,
    output: CardDetail,
    emits: ['card.moved', 'card.updated', 'agent.status'],
  }),
  archive: post('/api/projects/{projectId}/cards/{cardId}/archive', {
    notFound: ofCard,
    who: member('agents.archive'),
    summary: 'Archive a card',
    output: CardDetail,
    emits: ['card.archived'],
  }),
  unarchive: post('/api/projects/{projectId}/cards/{cardId}/unarchive', {
    notFound: ofCard,
    who: member('agents.archive'),
    summary: 'Bring an archived card back',
    output: CardDetail,
    emits: ['card.unarchived'],
  }),
  complete: post('/api/projects/{projectId}/cards/{cardId}/complete', {
    notFound: ofCard,
    at: 'machine or here',
    who: member('cards.move'),
    summary: 'Move a card to the first done column',
    emits: ['card.completed', 'card.moved'],
  }),
  activate: post('/api/projects/{projectId}/cards/{cardId}/activate', {
    fails: ['CARD_NOT_DEFERRED'],
    notFound: ofCard,
    audited: { target: 'card', only: 'starts' },
    at: 'machine',
    who: member('agents.run'),
    summary: 'Activate a deferred card',
    emits: ['card.updated'],
  }),
  setAutoMode: patch('/api/projects/{projectId}/cards/{cardId}/auto-mode', {
    notFound: ofCard,
    who: member('agents.run'),
    summary: 'Switch auto mode on or off',
    input: v.strictObject({ enabled: v.boolean() }),
    output: CardDetail,
    emits: ['card.updated'],
  }),
  getPipeline: get('/api/projects/{projectId}/cards/{cardId}/pipeline', {
    notFound: ofCard,
    who: viewer('cards.read'),
    summary: "Read a card's pipeline",
    output: Pipeline,
  }),
  setPipeline: put('/api/projects/{projectId}/cards/{cardId}/pipeline', {
    fails: ['INVALID_PIPELINE'],
    notFound: ofCard,
    who: member('cards.update'),
    summary: "Change a card's pipeline",
    input: SetPipeline,
    output: Pipeline,
    emits: ['card.updated'],
  }),
  attachWorktree: put('/api/projects/{projectId}/cards/{cardId}/worktree', {
    fails: ['PATH_NOT_ABSOLUTE', 'PATH_NOT_FOUND', 'NOT_A_GIT_REPOSITORY'],
    notFound: ofCard,
    audited: { target: 'card' },
    at: 'machine',
    who: manager(),
    summary: "Attach one's own worktree of the project's repository",
    input: AttachWorktree,
    output: CardDetail,
    emits: ['card.updated'],
  }),
  detachWorktree: del('/api/projects/{projectId}/cards/{cardId}/worktree', {
    notFound: ofCard,
    audited: { target: 'card' },
    at: 'machine',
    who: manager(),
    summary: 'Detach the attached worktree; its folder stays',
    emits: ['card.updated'],
  }),
  create: post('/api/cards', {
    fails: ['PROJECT_NOT_FOUND', 'COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
    audited: { target: 'card', id: 'id', only: 'starts', detail: ['kind'] },
    at: 'machine or here, if it starts',
    who: member('cards.create', 'projectId'),
    summary: 'Create a card; in an active column that starts its agent, for a key with agents.run or scripts.run only',
    input: CreateCard,
    output: CardDetail,
    idempotent: true,
    status: 201,
    emits: ['card.created'],
  }),
  getFlat: get('/api/cards/{id}', {
    notFound: { id: 'CARD_NOT_FOUND' },
    who: viewer('cards.read', 'flatCard'),
    summary: 'Read a card without naming its project',
    output: CardDetail,
  }),
  status: get('/api/cards/{id}/status', {
    notFound: { id: 'CARD_NOT_FOUND' },
    who: viewer('cards.read', 'flatCard'),
    summary: "Read a card's status",
    output: v.object({
      id: Id,
      title: Title,
      columnName: v.string(),
      hasActiveAgent: v.boolean(),
      status: CardStatus,
      statusReason: v.nullable(v.string()),
    }),
  }),
}
