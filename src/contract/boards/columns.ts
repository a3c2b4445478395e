import * as v from 'valibot'
import { AgentChoice, ChangedAgentChoice } from '../agents/agentChoice.ts'
import { ColumnType, Count, Id, integer, Name, Order, Position, Prompt, refTo } from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { del, get, member, patch, post, viewer } from '../route.ts'

/** A limit on the number of a column's cards. */
export const WipLimit = v.nullable(integer(1, 10_000))
export const Column = v.object({
  id: Id,
  name: Name,
  columnType: ColumnType,
  position: Position,
  boardId: Id,
  prompt: v.string(),
  ...AgentChoice.entries,
  /** The maximum number of cards in the column. Null if unlimited. */
  wipLimit: WipLimit,
  /** Whether the column automatically pulls the next ready card from the previous column when there is capacity. */
  pull: v.boolean(),
  /** The target column of a card whose pull request was merged. Null for the first done column of its board. */
  mergedColumnId: v.nullable(Id),
  /** The target column of a card whose pull request was closed. Null if the card stays. */
  closedColumnId: v.nullable(Id),
  cardCount: Count,
})
/** Columns of the same board. */
const afterRequests = {
  mergedColumnId: v.optional(v.nullable(refTo('COLUMN_NOT_FOUND'))),
  closedColumnId: v.optional(v.nullable(refTo('COLUMN_NOT_FOUND'))),
}
const CreateColumn = v.strictObject({
  name: Name,
  columnType: ColumnType,
  boardId: refTo('BOARD_NOT_FOUND'),
  prompt: v.optional(Prompt, ''),
  wipLimit: v.optional(WipLimit, null),
  pull: v.optional(v.boolean(), false),
  ...afterRequests,
  ...ChangedAgentChoice.entries,
})
const UpdateColumn = v.strictObject({
  name: v.optional(Name),
  prompt: v.optional(Prompt),
  wipLimit: v.optional(WipLimit),
  pull: v.optional(v.boolean()),
  ...afterRequests,
  ...ChangedAgentChoice.entries,
})

export const columns = {
  list: get('/api/projects/{projectId}/columns', {
    fails: ['BOARD_NOT_FOUND'],
    notFound: ofProject,
    who: viewer('boards.read'),
    tool: {
      name: 'list_columns',
      title: 'List columns',
      group: 'find',
      does: 'reads',
      brief: ['id', 'boardId', 'name', 'columnType', 'cardCount', 'wipLimit', 'pull'],
    },
    summary: 'List the columns of one board or of all boards, in order',
    input: v.strictObject({ boardId: v.optional(refTo('BOARD_NOT_FOUND')) }),
    output: v.array(Column),
  }),
  create: post('/api/projects/{projectId}/columns', {
    fails: ['BOARD_NOT_FOUND', 'COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
    notFound: ofProject,
    who: member('boards.write'),
    tool: {
      name: 'create_column',
      title: 'Create a column',
      group: 'change',
      does: 'changes',
      brief: ['id', 'boardId', 'name', 'columnType', 'wipLimit', 'pull'],
    },
    summary: 'Create a column at the end of a board',
    input: CreateColumn,
    output: Column,
    idempotent: true,
    status: 201,
    emits: ['column.created'],
  }),
  reorder: patch('/api/projects/{projectId}/columns/reorder', {
    fails: ['INVALID_ORDER', 'COLUMN_NOT_FOUND'],
    notFound: ofProject,
    who: member('boards.write'),
    summary: "Reorder a board's columns",
    input: Order,
    output: v.array(Column),
    emits: ['column.reordered'],
  }),
  update: patch('/api/projects/{projectId}/columns/{columnId}', {
    fails: ['COLUMN_IN_OTHER_PROJECT'],
    notFound: { ...ofProject, columnId: 'COLUMN_NOT_FOUND' },
    who: member('boards.write'),
    summary: 'Update a column',
    details: 'A new agent clears the model, mode and effort, unless the request sets them.',
    input: UpdateColumn,
    output: Column,
    emits: ['column.updated'],
  }),
  delete: del('/api/projects/{projectId}/columns/{columnId}', {
    notFound: { ...ofProject, columnId: 'COLUMN_NOT_FOUND' },
    audited: { target: 'column' },
    who: member('boards.write'),
    fails: ['COLUMN_NOT_EMPTY'],
    summary: 'Delete an empty column',
    details: 'A column with gates requires an admin of the project.',
    emits: ['column.deleted'],
  }),
  clear: post('/api/projects/{projectId}/columns/{columnId}/clean-all', {
    notFound: { ...ofProject, columnId: 'COLUMN_NOT_FOUND' },
    audited: { target: 'column' },
    who: member('cards.delete'),
    summary: 'Delete all cards of a column, including cards archived from the column',
    emits: ['card.deleted'],
  }),
}
