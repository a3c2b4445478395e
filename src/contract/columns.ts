import * as v from 'valibot'
import { AgentChoice, ChangedAgentChoice } from './agentChoice.ts'
import { ColumnType, Count, Id, Name, Order, Position, Prompt, refTo } from './fields.ts'
import { ofProject } from './notFound.ts'
import { del, get, member, patch, post, viewer } from './route.ts'

export const Column = v.object({
  id: Id,
  name: Name,
  columnType: ColumnType,
  position: Position,
  boardId: Id,
  prompt: v.string(),
  ...AgentChoice.entries,
  cardCount: Count,
})
const CreateColumn = v.strictObject({
  name: Name,
  columnType: ColumnType,
  boardId: refTo('BOARD_NOT_FOUND'),
  prompt: v.optional(Prompt, ''),
  ...ChangedAgentChoice.entries,
})
const UpdateColumn = v.strictObject({
  name: v.optional(Name),
  prompt: v.optional(Prompt),
  ...ChangedAgentChoice.entries,
})

export const columns = {
  list: get('/api/projects/{projectId}/columns', {
    fails: ['BOARD_NOT_FOUND'],
    notFound: ofProject,
    who: viewer('boards.read'),
    summary: 'List columns in order, of one board or of all',
    input: v.strictObject({ boardId: v.optional(refTo('BOARD_NOT_FOUND')) }),
    output: v.array(Column),
  }),
  create: post('/api/projects/{projectId}/columns', {
    fails: ['BOARD_NOT_FOUND'],
    notFound: ofProject,
    who: member('boards.write'),
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
    summary: "Put a board's columns in order",
    input: Order,
    output: v.array(Column),
    emits: ['column.reordered'],
  }),
  update: patch('/api/projects/{projectId}/columns/{columnId}', {
    notFound: { ...ofProject, columnId: 'COLUMN_NOT_FOUND' },
    who: member('boards.write'),
    summary: 'Change a column; another agent takes no model, mode or effort of the one before',
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
    emits: ['column.deleted'],
  }),
  clear: post('/api/projects/{projectId}/columns/{columnId}/clean-all', {
    notFound: { ...ofProject, columnId: 'COLUMN_NOT_FOUND' },
    audited: { target: 'column' },
    who: member('cards.delete'),
    summary: 'Delete all cards of a column, and those that were archived from it',
    emits: ['card.deleted'],
  }),
}
