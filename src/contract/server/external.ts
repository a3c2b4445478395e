import * as v from 'valibot'
import { ExternalBlockers, StartAt, Force } from '../cards/cardOrder.ts'
import { ExternalPlan, ExternalPlanFilter, ShownExternalPlan } from '../cards/cardPlan.ts'
import { WipLimit } from '../boards/columns.ts'
import { CardItem, LastAction, Lock, Merge } from '../cards/cardRecords.ts'
import {
  CardStatus,
  ColumnType,
  Count,
  IntegerId,
  integerRefTo,
  Labels,
  limit,
  Position,
  Prompt,
  queryInteger,
  text,
  Time,
  Title,
} from '../fields.ts'
import { ofCard, ofProject } from '../notFound.ts'
import { get, key, patch, post } from '../route.ts'

export const ExternalItem = v.object({
  id: IntegerId,
  projectId: IntegerId,
  boardId: IntegerId,
  columnId: IntegerId,
  groupId: v.nullable(v.string()),
  title: Title,
  prompt: Prompt,
  labels: Labels,
  ...ShownExternalPlan,
  status: CardStatus,
  statusReason: v.nullable(v.string()),
  position: Position,
  unread: v.boolean(),
  gitBranch: v.nullable(v.string()),
  useWorktree: v.boolean(),
  deferred: v.boolean(),
  blocked: v.boolean(),
  blockedBy: v.array(IntegerId),
  startAt: v.nullable(Time),
  ready: v.boolean(),
  ...Merge,
  lastAgentAction: LastAction,
  createdAt: Time,
  updatedAt: Time,
  startedAt: v.nullable(Time),
  endedAt: v.nullable(Time),
  version: CardItem.entries.version,
})
/** A whole card. `position` is null while the card is archived. */
export const ExternalCard = v.object({
  ...ExternalItem.entries,
  position: v.nullable(Position),
  locks: v.array(Lock),
  sessions: v.array(
    v.object({
      id: IntegerId,
      agent: v.string(),
      status: CardStatus,
      startedAt: Time,
      endedAt: v.nullable(Time),
      summary: v.nullable(v.string()),
    }),
  ),
})
export const ExternalBoard = v.object({
  id: IntegerId,
  name: v.string(),
  columns: v.array(
    v.object({
      id: IntegerId,
      name: v.string(),
      columnType: ColumnType,
      position: Position,
      wipLimit: WipLimit,
      cardCount: Count,
    }),
  ),
})
export const ExternalStats = v.object({
  total: Count,
  byStatus: v.record(CardStatus, Count),
  byColumn: v.array(v.object({ columnId: IntegerId, name: v.string(), columnType: ColumnType, count: Count })),
  tokens: v.object({ total: Count, sessions: Count }),
})
const Ok = v.object({ ok: v.literal(true) })

const List = v.strictObject({
  columnId: v.optional(queryInteger(1)),
  status: v.optional(CardStatus),
  label: v.optional(text(1, 100)),
  ...ExternalPlanFilter,
  limit: limit(50, 100),
  cursor: v.optional(queryInteger(0)),
})
const Create = v.strictObject({
  title: Title,
  prompt: v.optional(Prompt, ''),
  columnId: v.optional(integerRefTo('COLUMN_NOT_FOUND')),
  useWorktree: v.optional(v.boolean(), true),
  blockedBy: ExternalBlockers,
  startAt: StartAt,
  ...ExternalPlan,
  force: Force,
})
const Move = v.strictObject({ targetColumnId: integerRefTo('COLUMN_NOT_FOUND'), position: Position, force: Force })

/** The stable contract for third parties (specification "External automation routes"). */
/** The common fields of every external row. */
const common = { integerIds: true, rateLimit: 'apiKey' } as const

export const external = {
  boards: get('/api/external/projects/{projectId}/boards', {
    ...common,
    notFound: ofProject,
    who: key('cards.read'),
    summary: 'List boards with their columns',
    output: v.array(ExternalBoard),
  }),
  list: get('/api/external/projects/{projectId}/cards', {
    ...common,
    notFound: ofProject,
    who: key('cards.read'),
    summary: 'List cards in order of ID',
    input: List,
    output: v.object({ items: v.array(ExternalItem), nextCursor: v.nullable(IntegerId) }),
  }),
  create: post('/api/external/projects/{projectId}/cards', {
    fails: [
      'COLUMN_NOT_FOUND',
      'COLUMN_NOT_ON_DEFAULT_BOARD',
      'COLUMN_IN_OTHER_PROJECT',
      'COLUMN_FULL',
      'CARD_NOT_FOUND',
    ],
    ...common,
    notFound: ofProject,
    audited: { target: 'card', id: 'id', only: 'starts' },
    who: key('cards.create', 'pipelines.trigger'),
    summary: 'Create a card without starting its agent',
    input: Create,
    output: ExternalCard,
    idempotent: true,
    status: 201,
    emits: ['card.created', 'card.assigned'],
  }),
  get: get('/api/external/projects/{projectId}/cards/{cardId}', {
    ...common,
    notFound: ofCard,
    who: key('cards.read'),
    summary: 'Get a card',
    output: ExternalCard,
  }),
  stats: get('/api/external/projects/{projectId}/stats', {
    ...common,
    notFound: ofProject,
    who: key('cards.read'),
    summary: 'Get card counts of a project',
    output: ExternalStats,
  }),
  move: patch('/api/external/projects/{projectId}/cards/{cardId}/move', {
    fails: ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT', 'COLUMN_FULL', 'GATE_NOT_PASSED'],
    ...common,
    at: 'machine or here',
    notFound: ofCard,
    audited: { target: 'card', only: 'starts', detail: ['targetColumnId'] },
    ifMatch: true,
    who: key('cards.move'),
    summary: "Move a card without starting the target column's agent",
    input: Move,
    output: ExternalCard,
    emits: ['card.moved'],
  }),
  archive: post('/api/external/projects/{projectId}/cards/{cardId}/archive', {
    ...common,
    notFound: ofCard,
    who: key('agents.archive'),
    summary: 'Archive a card',
    output: Ok,
    emits: ['card.archived'],
  }),
  cancelAgent: post('/api/external/projects/{projectId}/cards/{cardId}/agent/cancel', {
    fails: ['AGENT_NOT_RUNNING'],
    ...common,
    notFound: ofCard,
    at: 'machine or here',
    who: key('agents.cancel'),
    summary: "Cancel a card's agent",
    output: Ok,
    emits: ['agent.status', 'card.updated'],
  }),
}
