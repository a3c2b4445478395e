import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let root: Client
let own: Client
let foreign: Client
let tokens: Record<'root' | 'own' | 'foreign', string>
let ids: Record<'own' | 'foreign', string>
beforeAll(async () => {
  board = await startBoard()
  const setup = await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  const [first, second] = [
    await board.as().auth.register({ email: 'own@example.org', password: 'own password' }),
    await board.as().auth.register({ email: 'foreign@example.org', password: 'foreign password' }),
  ]
  tokens = { root: setup.token, own: first.token, foreign: second.token }
  ids = { own: first.user.id, foreign: second.user.id }
  ;[root, own, foreign] = [board.as(tokens.root), board.as(tokens.own), board.as(tokens.foreign)]
})
afterAll(() => board.close())

const refusal = async (method: string, path: string, token: string, body?: unknown) => {
  const {
    status,
    body: { error },
  } = await board.request(method, path, { token, body })
  return [status, error.code, error.message]
}
const join = (organizationId: string, userId: string, role: 'admin' | 'member') =>
  board.server.app.db.transaction(tx =>
    tx.run('INSERT INTO organization_members (organization_id, user_id, role, created_at) VALUES (?, ?, ?, ?)', [
      Number(organizationId),
      Number(userId),
      role,
      tx.now,
    ]),
  )

test('the creator of an organization is its admin, renames it and deletes it', async () => {
  const made = await own.organizations.create({ name: 'Club' })
  expect(made).toEqual({
    id: expect.any(String),
    name: 'Club',
    role: 'admin',
    defaultCredentialId: null,
    createdAt: expect.any(String),
  })
  expect(await own.organizations.get({ id: made.id })).toEqual(made)
  expect(await own.organizations.list()).toEqual([made])
  expect(await own.organizations.update({ id: made.id, name: 'Team' })).toEqual({ ...made, name: 'Team' })
  expect(await own.organizations.update({ id: made.id })).toEqual({ ...made, name: 'Team' })
  await own.organizations.delete({ id: made.id })
  expect(await own.organizations.list()).toEqual([])
})

test('to others an organization looks missing', async () => {
  const { id } = await own.organizations.create({ name: 'Secret' })
  expect(await foreign.organizations.list()).toEqual([])
  for (const [method, body] of [
    ['GET', undefined],
    ['PATCH', { name: 'Taken' }],
    ['DELETE', undefined],
  ] as const) {
    const seen = await refusal(method, `/api/organizations/${id}`, tokens.foreign, body)
    expect(seen).toEqual([404, 'ORGANIZATION_NOT_FOUND', expect.any(String)])
    expect(await refusal(method, '/api/organizations/99999', tokens.foreign, body)).toEqual(seen)
    expect(await refusal(method, '/api/organizations/x', tokens.foreign, body)).toEqual(seen)
  }
})

test('a member can see it but not change it; another admin can change it', async () => {
  const { id } = await own.organizations.create({ name: 'Shared' })
  await join(id, ids.foreign, 'member')
  expect(await foreign.organizations.get({ id })).toMatchObject({ name: 'Shared', role: 'member' })
  expect((await foreign.organizations.list()).map(each => each.id)).toEqual([id])
  expect((await refusal('PATCH', `/api/organizations/${id}`, tokens.foreign, { name: 'X' })).slice(0, 2)).toEqual([
    403,
    'FORBIDDEN',
  ])
  expect((await refusal('DELETE', `/api/organizations/${id}`, tokens.foreign)).slice(0, 2)).toEqual([403, 'FORBIDDEN'])
  await board.server.app.db.transaction(tx =>
    tx.run('UPDATE organization_members SET role = ? WHERE organization_id = ? AND user_id = ?', [
      'admin',
      Number(id),
      Number(ids.foreign),
    ]),
  )
  expect(await foreign.organizations.update({ id, name: 'Renamed' })).toMatchObject({ name: 'Renamed', role: 'admin' })
  await foreign.organizations.delete({ id })
})

test('an administrator of the server manages every organization and lists only his or her own', async () => {
  const { id } = await own.organizations.create({ name: 'Theirs' })
  expect(await root.organizations.list()).toEqual([])
  expect(await root.organizations.get({ id })).toMatchObject({ name: 'Theirs' })
  expect(await root.organizations.update({ id, name: 'Watched' })).toMatchObject({ name: 'Watched' })
  await root.organizations.delete({ id })
})

test('an organization with projects cannot be deleted', async () => {
  const { id } = await own.organizations.create({ name: 'Busy' })
  const project = await own.projects.create({ name: 'P', path: board.folder('p'), organizationId: id })
  expect((await refusal('DELETE', `/api/organizations/${id}`, tokens.own)).slice(0, 2)).toEqual([
    409,
    'ORGANIZATION_HAS_PROJECTS',
  ])
  await own.projects.update({ id: project.id, organizationId: null })
  await own.organizations.delete({ id })
  expect(await own.projects.get({ id: project.id })).toMatchObject({ organizationId: null })
})

test('keys of a deleted organization are revoked with it', async () => {
  const { id } = await own.organizations.create({ name: 'Short' })
  const { key } = await own.keys.create({
    name: 'K',
    scope: 'organization',
    organizationId: id,
    permissions: ['cards.read'],
  })
  const ask = async () => (await board.request('GET', '/api/external/projects/1/cards', { token: key })).status
  expect(await ask()).toBe(404)
  await own.organizations.delete({ id })
  expect(await ask()).toBe(401)
})
