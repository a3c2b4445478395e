import * as v from 'valibot'
import { Id, Name, Order, Position, refTo, Time } from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { del, get, manager, member, patch, post, viewer } from '../route.ts'

export const Board = v.object({ id: Id, name: Name, projectId: Id, position: Position, createdAt: Time })
const CreateBoard = v.strictObject({ name: Name, templateId: v.optional(refTo('TEMPLATE_NOT_FOUND')) })
const UpdateBoard = v.strictObject({ name: v.optional(Name) })

export const boards = {
  list: get('/api/projects/{projectId}/boards', {
    notFound: ofProject,
    who: viewer('boards.read'),
    tool: {
      name: 'list_boards',
      title: 'List boards',
      group: 'find',
      does: 'reads',
      brief: ['id', 'name', 'position'],
    },
    summary: "List a project's boards in order",
    output: v.array(Board),
  }),
  create: post('/api/projects/{projectId}/boards', {
    fails: ['TEMPLATE_NOT_FOUND'],
    notFound: ofProject,
    who: member('boards.write'),
    tool: { name: 'create_board', title: 'Create a board', group: 'change', does: 'changes' },
    summary: "Create a board with a template's columns",
    input: CreateBoard,
    output: Board,
    idempotent: true,
    status: 201,
    emits: ['board.created'],
  }),
  reorder: patch('/api/projects/{projectId}/boards/reorder', {
    fails: ['INVALID_ORDER'],
    notFound: ofProject,
    who: member('boards.write'),
    summary: "Reorder a project's boards",
    input: Order,
    output: v.array(Board),
    emits: ['board.reordered'],
  }),
  update: patch('/api/projects/{projectId}/boards/{boardId}', {
    notFound: { ...ofProject, boardId: 'BOARD_NOT_FOUND' },
    who: member('boards.write'),
    summary: 'Rename a board',
    input: UpdateBoard,
    output: Board,
    emits: ['board.updated'],
  }),
  delete: del('/api/projects/{projectId}/boards/{boardId}', {
    takesLong: true,
    notFound: { ...ofProject, boardId: 'BOARD_NOT_FOUND' },
    audited: { target: 'board' },
    at: 'machine',
    who: manager('boards.write'),
    fails: ['LAST_BOARD'],
    summary: 'Delete a board and its columns and cards',
    emits: ['board.deleted'],
  }),
}
