import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

let board: TestBoard
let own: Client
let tokens: { own: string; foreign: string }
beforeAll(async () => {
  board = await startBoard()
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  tokens = {
    own: (await registerConfirmed(board, { email: 'own@example.org', password: 'own password' })).token,
    foreign: (await registerConfirmed(board, { email: 'foreign@example.org', password: 'foreign password' })).token,
  }
  own = board.as(tokens.own)
})
afterAll(() => board.close())

const columns = [
  { name: 'Ideas', columnType: 'backlog' as const, prompt: '', wipLimit: 20, pull: false },
  { name: 'Doing', columnType: 'active' as const, prompt: 'Do it.', wipLimit: 3, pull: true },
]
const unknown = [404, 'TEMPLATE_NOT_FOUND']
const refusal = async (method: string, path: string, token: string, body?: unknown) => {
  const reply = await board.request(method, path, { token, body })
  return [reply.status, reply.body.error.code]
}

test('the built-in templates are listed first and cannot be changed or deleted', async () => {
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

test('a template is created, changed in part and deleted by its owner', async () => {
  const made = await own.templates.create({ name: 'Mine', columns })
  expect(made).toEqual({ id: expect.any(String), name: 'Mine', builtin: false, shared: false, columns })
  expect(await own.templates.update({ id: made.id, name: 'Ours' })).toEqual({ ...made, name: 'Ours' })
  expect(await own.templates.update({ id: made.id, columns: [{ name: 'Only', columnType: 'done' }] })).toEqual({
    ...made,
    name: 'Ours',
    columns: [{ name: 'Only', columnType: 'done', prompt: '', wipLimit: null, pull: false }],
  })
  await own.templates.delete({ id: made.id })
  expect(await refusal('PATCH', `/api/board-templates/${made.id}`, tokens.own, {})).toEqual([404, 'TEMPLATE_NOT_FOUND'])
  expect(await refusal('DELETE', `/api/board-templates/${made.id}`, tokens.own)).toEqual([404, 'TEMPLATE_NOT_FOUND'])
})

test('only its owner sees, uses or changes a template, and no administrator either', async () => {
  const { id } = await own.templates.create({ name: 'Private', columns })
  const project = await board.as(tokens.foreign).projects.create({ name: 'P', path: board.folder('foreign') })
  for (const token of [tokens.foreign, board.token]) {
    expect((await board.as(token).templates.list()).map(template => template.id)).not.toContain(id)
    expect(await refusal('PATCH', `/api/board-templates/${id}`, token, { name: 'Taken' })).toEqual(unknown)
    expect(await refusal('DELETE', `/api/board-templates/${id}`, token)).toEqual(unknown)
    expect(
      await refusal('POST', `/api/projects/${project.id}/boards`, token, { name: 'Copied', templateId: id }),
    ).toEqual(unknown)
  }
  expect((await own.templates.list()).find(template => template.id === id)).toMatchObject({ shared: false })
})

test('a template that an administrator shares is seen and used by all users, and changed by its owner only', async () => {
  expect(await refusal('POST', '/api/board-templates', tokens.own, { name: 'Mine', columns, shared: true })).toEqual([
    403,
    'FORBIDDEN',
  ])
  const plain = await own.templates.create({ name: 'Mine', columns })
  expect(await refusal('PATCH', `/api/board-templates/${plain.id}`, tokens.own, { shared: true })).toEqual([
    403,
    'FORBIDDEN',
  ])
  const root = board.client
  const { id } = await root.templates.create({ name: 'Shared', columns })
  expect((await root.templates.update({ id, shared: true })).shared).toBe(true)
  const foreign = board.as(tokens.foreign)
  expect((await foreign.templates.list()).map(template => template.id)).toContain(id)
  expect(await refusal('PATCH', `/api/board-templates/${id}`, tokens.foreign, { name: 'Taken' })).toEqual([
    403,
    'FORBIDDEN',
  ])
  expect(await refusal('DELETE', `/api/board-templates/${id}`, tokens.foreign)).toEqual([403, 'FORBIDDEN'])
  const project = await foreign.projects.create({ name: 'P', path: board.folder('p') })
  const made = await foreign.boards.create({ projectId: project.id, name: 'From template', templateId: id })
  expect(
    (await foreign.columns.list({ projectId: project.id, boardId: made.id })).map(
      ({ name, columnType, prompt, wipLimit, pull, position }) => ({
        name,
        columnType,
        prompt,
        wipLimit,
        pull,
        position,
      }),
    ),
  ).toEqual(columns.map((column, position) => ({ ...column, position })))
  await root.templates.update({ id, shared: false })
  expect((await foreign.templates.list()).map(template => template.id)).not.toContain(id)
  await root.templates.delete({ id })
  expect((await foreign.columns.list({ projectId: project.id, boardId: made.id })).length).toBe(2)
})

test("an export of an organization omits its members' private templates", async () => {
  const { id: organizationId } = await own.organizations.create({ name: 'Club' })
  await own.organizations.addMember({ id: organizationId, email: 'foreign@example.org' })
  await board.as(tokens.foreign).templates.create({ name: 'Foreign and private', columns })
  await own.templates.create({ name: 'Own', columns })
  const { body } = await board.request('POST', '/api/export', { token: tokens.own, body: { organizationId } })
  const names = body.templates.map(({ name }: { name: string }) => name)
  expect(names).toContain('Own')
  expect(names).not.toContain('Foreign and private')
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
])('%j is rejected and names %s', async (body, path) => {
  const reply = await board.request('POST', '/api/board-templates', { token: tokens.own, body })
  expect([reply.status, reply.body.error.code, reply.body.error.details[0].path]).toEqual([
    400,
    'VALIDATION_FAILED',
    path,
  ])
})
