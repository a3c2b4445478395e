import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { atOnce } from '../support/servers/atOnce.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

interface Person {
  id: string
  email: string
  token: string
  client: Client
}

let board: TestBoard
let root: Person
let boss: Person
beforeAll(async () => {
  board = await startBoard()
  root = enter(await board.as().auth.setup({ email: 'root@example.org', password: 'root password' }))
  boss = await person('Boss')
})
afterAll(() => board.close())

const enter = ({ token, user }: { token: string; user: { id: string; email: string } }): Person => ({
  id: user.id,
  email: user.email,
  token,
  client: board.as(token),
})
let made = 0
const person = async (displayName = 'Person') =>
  enter(await registerConfirmed(board, { email: `p${++made}@example.org`, displayName, password: 'a long password' }))
const request = (method: string, path: string, { token }: Person, body?: unknown): Promise<Reply> =>
  board.request(method, `/api/organizations${path}`, { token, body })
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
/** An organization of the boss with these members. */
async function newOrganization(...members: Person[]): Promise<string> {
  const { id } = await boss.client.organizations.create({ name: 'Org' })
  for (const { email } of members) await boss.client.organizations.addMember({ id, email })
  return id
}
const rolesIn = async (id: string) =>
  Object.fromEntries((await root.client.organizations.listMembers({ id })).map(({ userId, role }) => [userId, role]))

test("an account that registered another user's address gets no access by being added, until the address is confirmed", async () => {
  const [id, email] = [await newOrganization(), `p${++made}@example.org`]
  const squatter = enter(await board.as().auth.register({ email, password: 'a long password' }))
  const added = await request('POST', `/${id}/members`, boss, { email })
  expect(codeOf(added)).toEqual([409, 'ADDRESS_UNVERIFIED'])
  expect(codeOf(await request('GET', `/${id}`, squatter))).toEqual([404, 'ORGANIZATION_NOT_FOUND'])
  expect(Object.keys(await rolesIn(id))).toEqual([boss.id])
  await root.client.users.update({ id: squatter.id, addressVerified: true })
  expect(await boss.client.organizations.addMember({ id, email })).toMatchObject({ userId: squatter.id })
})

test('admins add users who have an account, as members by default', async () => {
  const [id, one, two] = [await newOrganization(), await person('Zed'), await person('Abe')]
  expect(codeOf(await request('GET', `/${id}`, one))).toEqual([404, 'ORGANIZATION_NOT_FOUND'])
  expect(await boss.client.organizations.addMember({ id, email: one.email.toUpperCase() })).toEqual({
    userId: one.id,
    email: one.email,
    displayName: 'Zed',
    role: 'member',
  })
  await boss.client.organizations.addMember({ id, email: two.email, role: 'admin' })
  expect(
    (await one.client.organizations.listMembers({ id })).map(({ displayName, role }) => [displayName, role]),
  ).toEqual([
    ['Abe', 'admin'],
    ['Boss', 'admin'],
    ['Zed', 'member'],
  ])
  expect(await one.client.organizations.get({ id })).toMatchObject({ role: 'member' })
  const unknown = await request('POST', `/${id}/members`, boss, { email: 'nobody@example.org' })
  expect([...codeOf(unknown), unknown.body.error.message]).toEqual([
    404,
    'USER_NOT_FOUND',
    expect.stringContaining('nobody@example.org'),
  ])
  expect(codeOf(await request('POST', `/${id}/members`, boss, { email: one.email }))).toEqual([409, 'CONFLICT'])
  expect(
    (
      await atOnce(
        board,
        Array.from({ length: 3 }, () => () => request('POST', `/${id}/members`, boss, { email: root.email })),
      )
    )
      .map(({ status }) => status)
      .sort(),
  ).toEqual([201, 409, 409])
})

test('an organization looks missing to strangers, on every route', async () => {
  const [one, stranger] = [await person(), await person()]
  const id = await newOrganization(one)
  const routes = [
    ['GET', ''],
    ['PATCH', '', { name: 'X' }],
    ['DELETE', ''],
    ['GET', '/members'],
    ['POST', '/members', { email: stranger.email }],
    ['PATCH', `/members/${one.id}`, { role: 'admin' }],
    ['DELETE', `/members/${one.id}`],
    ['PUT', '/default-credential', { credentialId: null }],
  ] as const
  const { key } = await boss.client.keys.create({
    name: 'k',
    scope: 'organization',
    organizationId: id,
    permissions: ['cards.read', 'projects.read'],
  })
  for (const [method, path, body] of routes) {
    const reply = await request(method, `/${id}${path}`, stranger, body)
    expect(codeOf(reply), method + path).toEqual([404, 'ORGANIZATION_NOT_FOUND'])
    expect((await request(method, `/999999${path}`, stranger, body)).text).toBe(reply.text)
    expect(
      codeOf(await board.request(method, `/api/organizations/${id}${path}`, { token: key, body })),
      method + path,
    ).toEqual([403, 'INSUFFICIENT_PERMISSIONS'])
    expect(codeOf(await request(method, `/999999${path}`, root, body)), method + path).toEqual([
      404,
      'ORGANIZATION_NOT_FOUND',
    ])
    if (method !== 'GET' && path !== `/members/${one.id}`)
      expect(codeOf(await request(method, `/${id}${path}`, one, body)), method + path).toEqual([403, 'FORBIDDEN'])
  }
})

test('members can leave, and only admins change or remove others', async () => {
  const [one, two] = [await person(), await person()]
  const id = await newOrganization(one, two)
  expect(codeOf(await request('DELETE', `/${id}/members/${two.id}`, one))).toEqual([403, 'FORBIDDEN'])
  expect(codeOf(await request('PATCH', `/${id}/members/${one.id}`, one, { role: 'admin' }))).toEqual([403, 'FORBIDDEN'])
  await one.client.organizations.removeMember({ id, userId: one.id })
  expect(codeOf(await request('GET', `/${id}`, one))).toEqual([404, 'ORGANIZATION_NOT_FOUND'])
  expect(await boss.client.organizations.updateMember({ id, userId: two.id, role: 'admin' })).toMatchObject({
    userId: two.id,
    role: 'admin',
  })
  await two.client.organizations.removeMember({ id, userId: boss.id })
  expect(await rolesIn(id)).toEqual({ [two.id]: 'admin' })
  for (const userId of [boss.id, '999999', 'x', '0'])
    for (const [method, body] of [
      ['DELETE', undefined],
      ['PATCH', { role: 'admin' }],
    ] as const)
      expect(codeOf(await request(method, `/${id}/members/${userId}`, two, body))).toEqual([404, 'MEMBER_NOT_FOUND'])
})

test("a removed member loses the organization's projects at the next request", async () => {
  const one = await person()
  const id = await newOrganization(one)
  const project = await boss.client.projects.create({ name: 'P', path: board.folder('p'), organizationId: id })
  const look = async () => (await board.request('GET', `/api/projects/${project.id}`, { token: one.token })).status
  expect(await look()).toBe(200)
  await boss.client.organizations.removeMember({ id, userId: one.id })
  expect(await look()).toBe(404)
})

test('the last admin can neither leave nor be removed or demoted, not even by an administrator of the server', async () => {
  const one = await person()
  const id = await newOrganization(one)
  for (const who of [boss, root]) {
    expect(codeOf(await request('DELETE', `/${id}/members/${boss.id}`, who))).toEqual([409, 'LAST_ORGANIZATION_ADMIN'])
    expect(codeOf(await request('PATCH', `/${id}/members/${boss.id}`, who, { role: 'member' }))).toEqual([
      409,
      'LAST_ORGANIZATION_ADMIN',
    ])
  }
  expect(await boss.client.organizations.updateMember({ id, userId: boss.id, role: 'admin' })).toMatchObject({
    role: 'admin',
  })
  await boss.client.organizations.updateMember({ id, userId: one.id, role: 'admin' })
  await boss.client.organizations.updateMember({ id, userId: boss.id, role: 'member' })
  expect(await rolesIn(id)).toEqual({ [boss.id]: 'member', [one.id]: 'admin' })
})

test('two admins who remove or demote each other concurrently leave one', async () => {
  const one = await person()
  for (const [method, body] of [
    ['DELETE', undefined],
    ['PATCH', { role: 'member' }],
  ] as const) {
    const id = await newOrganization(one)
    await boss.client.organizations.updateMember({ id, userId: one.id, role: 'admin' })
    const replies = await atOnce(board, [
      () => request(method, `/${id}/members/${one.id}`, boss, body),
      () => request(method, `/${id}/members/${boss.id}`, one, body),
    ])
    expect(replies.map(codeOf)).toContainEqual([409, 'LAST_ORGANIZATION_ADMIN'])
    expect(Object.values(await rolesIn(id)).filter(role => role === 'admin')).toHaveLength(1)
  }
})

test('an administrator of the server manages every organization without belonging to it', async () => {
  const [id, one] = [await newOrganization(), await person()]
  expect(await root.client.organizations.get({ id })).toMatchObject({ role: null })
  await root.client.organizations.addMember({ id, email: one.email, role: 'admin' })
  await root.client.organizations.removeMember({ id, userId: boss.id })
  expect(await rolesIn(id)).toEqual({ [one.id]: 'admin' })
  expect(codeOf(await request('DELETE', `/${id}/members/${root.id}`, root))).toEqual([404, 'MEMBER_NOT_FOUND'])
})

test('a member is validated before any change', async () => {
  const id = await newOrganization()
  for (const body of [
    {},
    { email: 'nobody' },
    { email: 'x@example.org', role: 'viewer' },
    { email: 'x@example.org', id: '1' },
  ])
    expect(codeOf(await request('POST', `/${id}/members`, boss, body))).toEqual([400, 'VALIDATION_FAILED'])
  expect(codeOf(await request('PATCH', `/${id}/members/${boss.id}`, boss, { role: 'owner' }))).toEqual([
    400,
    'VALIDATION_FAILED',
  ])
})

test("an export lists an organization's members by address, and those of no other one", async () => {
  const [mine, stranger] = [await person('Mine'), await person('Stranger')]
  const [id] = [await newOrganization(mine), await newOrganization(stranger)]
  const { organizationMembers } = (
    await board.request('POST', '/api/export', { token: boss.token, body: { organizationId: id } })
  ).body
  expect(organizationMembers).toEqual([
    { email: boss.email, displayName: 'Boss', role: 'admin' },
    { email: mine.email, displayName: 'Mine', role: 'member' },
  ])
})
