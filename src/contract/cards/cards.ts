import * as v from 'valibot'
import { ChangedAgentChoice } from '../agents/agentChoice.ts'
import { CardBase, CardOrder, Force, Forced } from './cardOrder.ts'
import { CardPlan, PlanFilter } from './cardPlan.ts'
import { CallersCard, CardItem, DeletedCard } from './cardRecords.ts'
import { cardFlow } from './cardFlow.ts'
import {
  CardStatus,
  Id,
  Labels,
  limit,
  Name,
  Prompt,
  queryBoolean,
  queryInteger,
  refTo,
  text,
  Title,
} from '../fields.ts'
import { ofCard, ofProject } from '../notFound.ts'
import { del, get, manager, member, patch, post, put, viewer } from '../route.ts'
import { briefCards, changedCard, wholeCard } from '../agents/tool.ts'

const ListCards = v.strictObject({
  boardId: v.optional(refTo('BOARD_NOT_FOUND')),
  columnId: v.optional(refTo('COLUMN_NOT_FOUND')),
  status: v.optional(CardStatus),
  label: v.optional(text(1, 100)),
  search: v.optional(text(1, 200)),
  archived: v.optional(queryBoolean, false),
  unread: v.optional(queryBoolean, false),
  /** Whether to list only ready cards, ordered by priority, due date, board, column and place. Pages use offsets. */
  ready: v.optional(queryBoolean, false),
  blocked: v.optional(queryBoolean, false),
  /** With `sort`, pages use offsets. */
  ...PlanFilter,
  kind: v.optional(v.picklist(['kanban', 'terminal'], 'must be kanban or terminal')),
  limit: limit(1000, 1000),
  cursor: v.optional(queryInteger(0)),
  offset: v.optional(queryInteger(0)),
})
const ListDeleted = v.strictObject({
  boardId: v.optional(refTo('BOARD_NOT_FOUND')),
  limit: limit(100, 1000),
  offset: v.optional(queryInteger(0), 0),
})
const UpdateCard = v.strictObject({
  title: v.optional(Title),
  prompt: v.optional(Prompt),
  labels: v.optional(Labels),
  groupId: v.optional(v.nullable(Name)),
  useWorktree: v.optional(v.boolean()),
  /** Whether the caller is notified of the card's events. */
  watching: v.optional(v.boolean()),
  ...CardOrder,
  ...CardPlan,
  ...CardBase,
  ...ChangedAgentChoice.entries,
})
const DeleteCard = v.strictObject({ force: v.optional(queryBoolean, false) })
const AttachWorktree = v.strictObject({ path: text(1, 4096) })
const Command = v.pipe(
  text(1, 4096),
  v.check(value => value.trim() !== '', 'must not be blank'),
)
/** With `mustStart`, a card that cannot be started is not created; with `force`, a full column also accepts it. */
const CreateCard = v.strictObject({
  projectId: refTo('PROJECT_NOT_FOUND'),
  title: Title,
  prompt: v.optional(Prompt, ''),
  columnId: v.optional(refTo('COLUMN_NOT_FOUND')),
  labels: v.optional(Labels, []),
  groupId: v.optional(v.nullable(Name), null),
  useWorktree: v.optional(v.boolean(), true),
  deferred: v.optional(v.boolean(), false),
  mustStart: v.optional(v.boolean(), false),
  autoMode: v.optional(v.boolean(), false),
  force: Force,
  ...CardOrder,
  ...CardPlan,
  ...CardBase,
  ...ChangedAgentChoice.entries,
  kind: v.optional(v.picklist(['kanban', 'terminal'], 'must be kanban or terminal'), 'kanban'),
  command: v.optional(Command),
})

/** `remove`: the worktree is one that the board created, and its folder is deleted. */
const RemoveWorktree = v.strictObject({ remove: v.optional(queryBoolean, false) })

export const cards = {
  list: get('/api/projects/{projectId}/cards', {
    fails: ['COLUMN_NOT_FOUND'],
    notFound: ofProject,
    who: viewer('cards.read'),
    tool: {
      name: 'list_cards',
      title: 'List cards',
      group: 'find',
      does: 'reads',
      note: 'ready: only cards that can start now, in their recommended order; blocked: only cards that other cards block.',
      usual: { limit: 20 },
      brief: briefCards,
      pages: { after: 'cursor', offsetWith: ['sort', 'ready', 'offset'] },
    },
    summary: "List a project's cards",
    details: 'Page by cursor in order of ID, or by offset for a sorted list or one column.',
    input: ListCards,
    output: v.array(CardItem),
  }),
  get: get('/api/projects/{projectId}/cards/{cardId}', {
    notFound: ofCard,
    who: viewer('cards.read'),
    tool: { name: 'get_card', title: 'Get a card', group: 'find', does: 'reads', brief: wholeCard },
    summary: 'Get a card',
    output: CallersCard,
  }),
  update: patch('/api/projects/{projectId}/cards/{cardId}', {
    notFound: ofCard,
    who: member('cards.update'),
    tool: { name: 'update_card', title: 'Update a card', group: 'change', does: 'changes', brief: changedCard },
    summary: 'Update a card',
    details: 'A new agent clears the model, mode and effort, unless the request sets them.',
    fails: ['DEPENDENCY_CYCLE'],
    at: 'machine or here',
    ifMatch: true,
    input: UpdateCard,
    output: CallersCard,
    emits: ['card.updated', 'card.assigned'],
  }),
  delete: del('/api/projects/{projectId}/cards/{cardId}', {
    notFound: ofCard,
    audited: { target: 'card', detail: ['force'] },
    at: 'machine',
    who: member('cards.delete'),
    fails: ['WORKTREE_DIRTY', 'AGENT_ALREADY_RUNNING', 'CARD_BLOCKS_OTHERS'],
    tool: { name: 'delete_card', title: 'Delete a card', group: 'change', does: 'destroys' },
    summary: 'Delete a card',
    details: 'The card can be restored for 30 days.',
    input: DeleteCard,
    emits: ['card.deleted'],
  }),
  listDeleted: get('/api/projects/{projectId}/deleted-cards', {
    notFound: ofProject,
    who: member('cards.delete'),
    summary: 'List the deleted cards that can be restored, newest first',
    input: ListDeleted,
    output: v.array(DeletedCard),
  }),
  restore: post('/api/projects/{projectId}/cards/{cardId}/restore', {
    fails: ['COLUMN_FULL'],
    notFound: ofCard,
    at: 'machine or here',
    who: member('cards.delete'),
    tool: {
      name: 'restore_card',
      title: 'Restore a deleted card',
      group: 'change',
      does: 'changes',
      brief: changedCard,
    },
    summary: 'Restore a deleted card',
    input: Forced,
    output: CallersCard,
    emits: ['card.restored'],
  }),
  view: post('/api/projects/{projectId}/cards/{cardId}/view', {
    notFound: ofCard,
    who: viewer('cards.read'),
    summary: 'Mark a card as read',
    emits: ['card.viewed'],
  }),
  setWatching: put('/api/projects/{projectId}/cards/{cardId}/watching', {
    notFound: ofCard,
    who: viewer('cards.update'),
    summary: 'Watch or unwatch a card',
    details: 'Viewers can also watch cards.',
    input: v.strictObject({ watching: v.boolean() }),
    output: CallersCard,
    emits: ['card.updated'],
  }),
  ...cardFlow,
  attachWorktree: put('/api/projects/{projectId}/cards/{cardId}/worktree', {
    fails: ['PATH_NOT_ABSOLUTE', 'PATH_NOT_FOUND', 'NOT_A_GIT_REPOSITORY'],
    notFound: ofCard,
    audited: { target: 'card' },
    at: 'machine',
    who: manager(),
    summary: "Attach an existing worktree of the project's repository to a card",
    input: AttachWorktree,
    output: CallersCard,
    emits: ['card.updated'],
  }),
  detachWorktree: del('/api/projects/{projectId}/cards/{cardId}/worktree', {
    notFound: ofCard,
    audited: { target: 'card', detail: ['remove'] },
    at: 'machine',
    who: manager(),
    fails: ['AGENT_ALREADY_RUNNING', 'WORKTREE_DIRTY'],
    summary: "Detach a card's worktree, whose folder remains",
    details:
      'Use remove to delete the folder of a worktree that the board created, unless it contains work that exists nowhere else.',
    input: RemoveWorktree,
    emits: ['card.updated'],
  }),
  create: post('/api/cards', {
    fails: [
      'PROJECT_NOT_FOUND',
      'COLUMN_NOT_FOUND',
      'COLUMN_IN_OTHER_PROJECT',
      'COLUMN_FULL',
      'CARD_NOT_FOUND',
      'CARD_BLOCKED',
      'BUDGET_EXHAUSTED',
    ],
    audited: { target: 'card', id: 'id', only: 'starts', detail: ['kind'] },
    at: 'machine or here, if it starts',
    who: member('cards.create', 'projectId'),
    tool: {
      name: 'create_card',
      title: 'Create a card',
      group: 'change',
      does: 'changes',
      note: 'prompt: the task of its agent. Without columnId, the card goes to the first column, where no agent starts; with deferred: true, no agent starts in any column.',
      openWorld: true,
      brief: changedCard,
    },
    summary: 'Create a card',
    details:
      "In an active column, the card's agent starts, which requires the permission agents.run or scripts.run from an API key.",
    input: CreateCard,
    output: CallersCard,
    idempotent: true,
    status: 201,
    emits: ['card.created', 'card.assigned'],
  }),
  getFlat: get('/api/cards/{id}', {
    notFound: { id: 'CARD_NOT_FOUND' },
    who: viewer('cards.read', 'flatCard'),
    summary: 'Get a card by ID, without its project',
    output: CallersCard,
  }),
  status: get('/api/cards/{id}/status', {
    notFound: { id: 'CARD_NOT_FOUND' },
    who: viewer('cards.read', 'flatCard'),
    summary: "Get a card's status",
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
