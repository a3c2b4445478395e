import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { atOnce } from '../support/servers/atOnce.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow, type LiveSocket } from '../support/receivers/liveSocket.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

interface Person {
  id: string
  email: string
  token: string
  client: Client
}

const withinASecond = 1000
let board: TestBoard
let root: Person
let owner: Person
const sockets: LiveSocket[] = []

beforeAll(async () => {
  board = await startBoard()
  root = enter(
    await board.as().auth.setup({ email: 'root@example.org', password: 'root password', displayName: 'Root' }),
  )
  owner = await person('Owner')
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})
afterAll(() => board.close())

const enter = ({ token, user }: { token: string; user: { id: string; email: string } }): Person => ({
  id: user.id,
  email: user.email,
  token,
  client: board.as(token),
})
let made = 0
const addressOf = (name: string) => `${name.toLowerCase()}.${++made}@example.org`
const register = async (email: string, displayName?: string) =>
  enter(await registerConfirmed(board, { email, displayName, password: 'a long password' }))
const person = (name = 'Person') => register(addressOf(name), name)
const newProject = async (of = owner) => (await of.client.projects.create({ name: 'P', path: board.folder('p') })).id
const request = (method: string, path: string, { token }: Person, body?: unknown): Promise<Reply> =>
  board.request(method, path, { token, body })
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
const membersOf = async (id: string, as = owner) =>
  (await as.client.members.list({ id })).map(({ email, role, pending }) => [email, role, pending])
const seen = async (id: string, { client }: Person) =>
  (await client.projects.list()).filter(project => project.id === id).map(({ role }) => role)

describe('members', () => {
  it('are added by their address, with the role member by default, and see the project immediately', async () => {
    const [id, one, two] = [await newProject(), await person('Zed'), await person('Abe')]
    expect(codeOf(await request('GET', `/api/projects/${id}`, one))).toEqual([404, 'PROJECT_NOT_FOUND'])
    expect(await owner.client.members.add({ id, email: one.email.toUpperCase() })).toEqual({
      userId: one.id,
      email: one.email,
      displayName: 'Zed',
      role: 'member',
      acceptedAt: null,
      pending: false,
    })
    expect(await owner.client.members.add({ id, email: two.email, role: 'viewer' })).toMatchObject({
      userId: two.id,
      role: 'viewer',
    })
    expect(await membersOf(id, two)).toEqual([
      [two.email, 'viewer', false],
      [one.email, 'member', false],
    ])
    expect([await seen(id, one), await seen(id, two)]).toEqual([['member'], ['viewer']])
  })

  it('are listed once each, and the owner is not among them', async () => {
    const [id, one] = [await newProject(), await person()]
    const add = (email: string) => () => request('POST', `/api/projects/${id}/members`, owner, { email })
    const replies = await atOnce(
      board,
      Array.from({ length: 5 }, () => add(one.email)),
    )
    expect(replies.map(codeOf).sort()).toEqual([
      [201, undefined],
      ...Array.from({ length: 4 }, () => [409, 'CONFLICT']),
    ])
    expect(codeOf(await add(owner.email)())).toEqual([409, 'CONFLICT'])
    for (const reply of [
      await request('DELETE', `/api/projects/${id}/members/${owner.id}`, owner),
      await request('DELETE', `/api/projects/${id}/members/${owner.id}`, root),
      await request('PATCH', `/api/projects/${id}/members/${owner.id}`, owner, { role: 'viewer' }),
    ])
      expect(codeOf(reply)).toEqual([409, 'CONFLICT'])
    expect(await membersOf(id)).toEqual([[one.email, 'member', false]])
  })

  it('can get another role from admins, which applies with the next request', async () => {
    const [id, one] = [await newProject(), await person()]
    await owner.client.members.add({ id, email: one.email, role: 'viewer' })
    const create = () => request('POST', '/api/cards', one, { projectId: id, title: 'T' })
    expect(codeOf(await create())).toEqual([403, 'FORBIDDEN'])
    expect(await owner.client.members.update({ projectId: id, userId: one.id, role: 'member' })).toMatchObject({
      userId: one.id,
      role: 'member',
      pending: false,
    })
    expect((await create()).status).toBe(201)
    await owner.client.members.update({ projectId: id, userId: one.id, role: 'admin' })
    expect(await one.client.members.update({ projectId: id, userId: one.id, role: 'viewer' })).toMatchObject({
      role: 'viewer',
    })
    expect(codeOf(await create())).toEqual([403, 'FORBIDDEN'])
  })

  it('can leave; only admins remove, add, change or withdraw others', async () => {
    const [id, one, two, stranger] = [await newProject(), await person(), await person(), await person()]
    for (const { email } of [one, two]) await owner.client.members.add({ id, email })
    await owner.client.members.add({ id, email: 'invited@example.org' })
    for (const [method, path, body] of [
      ['DELETE', `members/${two.id}`],
      ['PATCH', `members/${two.id}`, { role: 'viewer' }],
      ['POST', 'members', { email: 'x@example.org' }],
      ['DELETE', 'invitations/invited@example.org'],
    ] as const) {
      expect(codeOf(await request(method, `/api/projects/${id}/${path}`, one, body))).toEqual([403, 'FORBIDDEN'])
      expect(codeOf(await request(method, `/api/projects/${id}/${path}`, stranger, body))).toEqual([
        404,
        'PROJECT_NOT_FOUND',
      ])
    }
    await one.client.members.remove({ projectId: id, userId: one.id })
    expect(codeOf(await request('GET', `/api/projects/${id}/members`, one))).toEqual([404, 'PROJECT_NOT_FOUND'])
    await owner.client.members.remove({ projectId: id, userId: two.id })
    expect(await membersOf(id)).toEqual([['invited@example.org', 'member', true]])
    for (const userId of [one.id, '999999', 'x'])
      expect(codeOf(await request('DELETE', `/api/projects/${id}/members/${userId}`, owner))).toEqual([
        404,
        'MEMBER_NOT_FOUND',
      ])
  })

  it('who are removed get 404 at the next request and no event after a second', async () => {
    const [id, one] = [await newProject(), await person()]
    await owner.client.members.add({ id, email: one.email })
    const { key } = await one.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId: id,
      permissions: ['cards.read'],
    })
    const live = await follow(board.url, one.token, id)
    sockets.push(live)
    await owner.client.members.remove({ projectId: id, userId: one.id })
    expect(codeOf(await request('GET', `/api/projects/${id}`, one))).toEqual([404, 'PROJECT_NOT_FOUND'])
    expect(codeOf(await board.request('GET', `/api/external/projects/${id}/stats`, { token: key }))).toEqual([
      404,
      'PROJECT_NOT_FOUND',
    ])
    const refusal = await eventually(
      'the end of the subscription',
      () => live.messages.find(({ type }) => type === 'error'),
      withinASecond,
    )
    expect(refusal.data).toMatchObject({ code: 'PROJECT_NOT_FOUND', projectId: id })
    await owner.client.cards.create({ projectId: id, title: 'unheard' })
    live.send({ type: 'ping' })
    await live.message('pong')
    expect(live.seqs()).toEqual([])
  })

  it('have accepted the project once they open it, until its folder changes or they are removed', async () => {
    const [id, one] = [await newProject(), await person()]
    await owner.client.members.add({ id, email: one.email, role: 'admin' })
    const accepted = async () => [
      (await owner.client.members.list({ id })).map(each => !each.pending && each.acceptedAt !== null),
      (await one.client.projects.get({ id })).accepted,
      (await owner.client.projects.get({ id })).accepted,
    ]
    expect(await accepted()).toEqual([[false], false, true])
    await one.client.projects.opened({ id })
    expect(await accepted()).toEqual([[true], true, true])
    await one.client.projects.update({ id, name: 'Renamed', path: (await one.client.projects.get({ id })).path })
    expect(await accepted()).toEqual([[true], true, true])
    await one.client.projects.update({ id, path: board.folder('elsewhere') })
    expect(await accepted()).toEqual([[true], true, false])
    await owner.client.projects.update({ id, path: board.folder('again') })
    expect(await accepted()).toEqual([[false], false, false])
    await Promise.all([one, owner].map(({ client }) => client.projects.opened({ id })))
    await owner.client.members.remove({ projectId: id, userId: one.id })
    await owner.client.members.add({ id, email: one.email })
    expect(await accepted()).toEqual([[false], false, true])
  })

  it('of an organization must accept each of its projects again when they rejoin', async () => {
    const one = await person()
    const organization = await owner.client.organizations.create({ name: 'O' })
    const { id } = await owner.client.projects.create({
      name: 'P',
      path: board.folder('p'),
      organizationId: organization.id,
    })
    const accepted = async () => (await one.client.projects.get({ id })).accepted
    await owner.client.organizations.addMember({ id: organization.id, email: one.email })
    expect(await accepted()).toBe(false)
    await one.client.projects.opened({ id })
    expect(await accepted()).toBe(true)
    await owner.client.organizations.removeMember({ id: organization.id, userId: one.id })
    await owner.client.organizations.addMember({ id: organization.id, email: one.email })
    expect(await accepted()).toBe(false)
    expect((await root.client.projects.get({ id })).accepted).toBe(false)
  })

  it('keep the access of an organization when their own membership ends', async () => {
    const one = await person()
    const organization = await owner.client.organizations.create({ name: 'O' })
    const { id } = await owner.client.projects.create({
      name: 'P',
      path: board.folder('p'),
      organizationId: organization.id,
    })
    await owner.client.organizations.addMember({ id: organization.id, email: one.email })
    await owner.client.members.add({ id, email: one.email, role: 'admin' })
    expect(await seen(id, one)).toEqual(['admin'])
    await one.client.members.remove({ projectId: id, userId: one.id })
    expect(await seen(id, one)).toEqual(['member'])
    expect(codeOf(await request('DELETE', `/api/projects/${id}/members/${one.id}`, one))).toEqual([
      404,
      'MEMBER_NOT_FOUND',
    ])
    await owner.client.organizations.removeMember({ id: organization.id, userId: one.id })
    expect(await seen(id, one)).toEqual([])
  })

  it('cannot be managed with an API key', async () => {
    const id = await newProject()
    const { key } = await owner.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId: id,
      permissions: ['cards.read', 'projects.read', 'boards.write'],
    })
    for (const [method, path, body] of [
      ['GET', 'members'],
      ['POST', 'members', { email: 'x@example.org' }],
      ['DELETE', `members/${owner.id}`],
    ] as const)
      expect(codeOf(await board.request(method, `/api/projects/${id}/${path}`, { token: key, body }))).toEqual([
        403,
        'INSUFFICIENT_PERMISSIONS',
      ])
  })
})
