import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { startBoard, type TestBoard } from '../helper.ts'

let board: TestBoard
let own: Client
let tokens: { own: string; foreign: string }
beforeAll(async () => {
  board = await startBoard()
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  tokens = {
    own: (await board.as().auth.register({ email: 'own@example.org', password: 'own password' })).token,
    foreign: (await board.as().auth.register({ email: 'foreign@example.org', password: 'foreign password' })).token,
  }
  own = board.as(tokens.own)
})
afterAll(() => board.close())

const columns = [
  { name: 'Ideas', columnType: 'backlog' as const, prompt: '' },
  { name: 'Doing', columnType: 'active' as const, prompt: 'Do it.' },
]
const refusal = async (method: string, path: string, token: string, body?: unknown) => {
  const reply = await board.request(method, path, { token, body })
  return [reply.status, reply.body.error.code]
}

test('the built-in templates come first and cannot be changed or deleted by anybody', async () => {
  const templates = await own.templates.list()
  expect(
    templates
      .slice(0, 3)
      .map(({ name, builtin, columns }) => [name, builtin, columns.map(column => column.columnType).join()]),
  ).toEqual([
    ['Kanban', true, 'backlog,active,done'],
    ['Plan, build, review', true, 'backlog,active,active,active,done,archive'],
    ['Empty', true, ''],
  ])
  for (const token of [tokens.own, board.token]) {
    expect(await refusal('PATCH', `/api/board-templates/${templates[0]!.id}`, token, { name: 'Mine now' })).toEqual([
      403,
      'FORBIDDEN',
    ])
    expect(await refusal('DELETE', `/api/board-templates/${templates[0]!.id}`, token)).toEqual([403, 'FORBIDDEN'])
  }
})

test('a template is made, changed in part and deleted by its owner', async () => {
  const made = await own.templates.create({ name: 'Mine', columns })
  expect(made).toEqual({ id: expect.any(String), name: 'Mine', builtin: false, columns })
  expect(await own.templates.update({ id: made.id, name: 'Ours' })).toEqual({ ...made, name: 'Ours' })
  expect(await own.templates.update({ id: made.id, columns: [{ name: 'Only', columnType: 'done' }] })).toEqual({
    ...made,
    name: 'Ours',
    columns: [{ name: 'Only', columnType: 'done', prompt: '' }],
  })
  await own.templates.delete({ id: made.id })
  expect(await refusal('PATCH', `/api/board-templates/${made.id}`, tokens.own, {})).toEqual([404, 'TEMPLATE_NOT_FOUND'])
  expect(await refusal('DELETE', `/api/board-templates/${made.id}`, tokens.own)).toEqual([404, 'TEMPLATE_NOT_FOUND'])
})

test('everybody may see and use a template, only its owner may change it', async () => {
  const { id } = await own.templates.create({ name: 'Shared', columns })
  const foreign = board.as(tokens.foreign)
  expect((await foreign.templates.list()).map(template => template.id)).toContain(id)
  expect(await refusal('PATCH', `/api/board-templates/${id}`, tokens.foreign, { name: 'Taken' })).toEqual([
    403,
    'FORBIDDEN',
  ])
  expect(await refusal('DELETE', `/api/board-templates/${id}`, board.token)).toEqual([403, 'FORBIDDEN'])
  const project = await foreign.projects.create({ name: 'P', path: board.folder('p') })
  const made = await foreign.boards.create({ projectId: project.id, name: 'From template', templateId: id })
  expect(
    (await foreign.columns.list({ projectId: project.id, boardId: made.id })).map(
      ({ name, columnType, prompt, position }) => ({ name, columnType, prompt, position }),
    ),
  ).toEqual(columns.map((column, position) => ({ ...column, position })))
  await own.templates.delete({ id })
  expect((await foreign.columns.list({ projectId: project.id, boardId: made.id })).length).toBe(2)
})

test('a board without a template gets the columns of Kanban, and an unknown template is 404', async () => {
  const project = await own.projects.create({ name: 'P', path: board.folder('q') })
  const made = await own.boards.create({ projectId: project.id, name: 'Plain' })
  expect((await own.columns.list({ projectId: project.id, boardId: made.id })).map(({ name }) => name)).toEqual([
    'Backlog',
    'In Progress',
    'Done',
  ])
  expect(
    await refusal('POST', `/api/projects/${project.id}/boards`, tokens.own, { name: 'X', templateId: '99999' }),
  ).toEqual([404, 'TEMPLATE_NOT_FOUND'])
})

test.each<[unknown, string]>([
  [{ columns: [] }, 'name'],
  [{ name: 'X' }, 'columns'],
  [{ name: 'X', columns: [{ name: 'A' }] }, 'columns.0.columnType'],
  [{ name: 'X', columns: [{ name: 'A', columnType: 'other' }] }, 'columns.0.columnType'],
  [{ name: 'X', columns: [{ name: '', columnType: 'done' }] }, 'columns.0.name'],
  [{ name: 'X', columns: [{ name: 'A', columnType: 'done', extra: 1 }] }, 'columns.0.extra'],
  [{ name: 'X', columns: Array.from({ length: 51 }, () => ({ name: 'A', columnType: 'done' })) }, 'columns'],
])('%j is refused and names %s', async (body, path) => {
  const reply = await board.request('POST', '/api/board-templates', { token: tokens.own, body })
  expect([reply.status, reply.body.error.code, reply.body.error.details[0].path]).toEqual([
    400,
    'VALIDATION_FAILED',
    path,
  ])
})
