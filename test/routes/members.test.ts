import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { takeInvitations } from '../../src/domain/members.ts'
import { atOnce } from '../atOnce.ts'
import { eventually, startBoard, type Reply, type TestBoard } from '../helper.ts'
import { follow, type LiveSocket } from '../liveSocket.ts'

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
  enter(await board.as().auth.register({ email, displayName, password: 'a long password' }))
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
  it('are added by their address, with the role member unless another is given, and see the project at once', async () => {
    const [id, one, two] = [await newProject(), await person('Zed'), await person('Abe')]
    expect(codeOf(await request('GET', `/api/projects/${id}`, one))).toEqual([404, 'PROJECT_NOT_FOUND'])
    expect(await owner.client.members.add({ id, email: one.email.toUpperCase() })).toEqual({
      userId: one.id,
      email: one.email,
      displayName: 'Zed',
      role: 'member',
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

  it('are each there once, and the owner is none of them', async () => {
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

  it('have their role changed by admins, which the next request feels', async () => {
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

  it('may leave; only admins remove others, add, change or withdraw', async () => {
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

  it('keep what an organization gives them when their own membership ends', async () => {
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

  it('are managed by no API key', async () => {
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

describe('an invitation', () => {
  it('waits for whoever registers with the address, in any case', async () => {
    const [first, second, email] = [await newProject(), await newProject(), addressOf('New')]
    expect(await owner.client.members.add({ id: first, email, role: 'viewer' })).toEqual({
      userId: null,
      email,
      displayName: null,
      role: 'viewer',
      pending: true,
      createdAt: expect.any(String),
    })
    await owner.client.members.add({ id: second, email: email.toUpperCase(), role: 'admin' })
    expect(await membersOf(first)).toEqual([[email, 'viewer', true]])
    const guest = await register(email)
    expect([await seen(first, guest), await seen(second, guest)]).toEqual([['viewer'], ['admin']])
    expect(await membersOf(first, guest)).toEqual([[email, 'viewer', false]])
  })

  it('waits for whoever an administrator makes an account for', async () => {
    const [id, email] = [await newProject(), addressOf('New')]
    await owner.client.members.add({ id, email })
    const { user, generatedPassword } = await root.client.users.create({ email, name: 'New', role: 'user' })
    const guest = enter(await board.as().auth.login({ email, password: generatedPassword }))
    expect([guest.id, await seen(id, guest)]).toEqual([user.id, ['member']])
  })

  it('is taken by an account of an identity provider when its verified address comes in', async () => {
    const [id, one] = [await newProject(), await person()]
    await board.server.app.db.transaction(tx =>
      tx.run('INSERT INTO invitations VALUES (?, ?, ?, ?)', [Number(id), one.email, 'member', tx.now]),
    )
    expect(await seen(id, one)).toEqual([])
    await board.server.app.db.transaction(tx => takeInvitations(tx, { id: Number(one.id), email: one.email }))
    expect(await seen(id, one)).toEqual(['member'])
    expect(await membersOf(id)).toEqual([[one.email, 'member', false]])
  })

  it('is there once, and can be withdrawn and given again', async () => {
    const [id, email] = [await newProject(), addressOf('New+tag')]
    const invite = () => request('POST', `/api/projects/${id}/members`, owner, { email })
    const withdraw = (address: string) =>
      request('DELETE', `/api/projects/${id}/invitations/${encodeURIComponent(address)}`, owner)
    expect((await atOnce(board, [invite, invite, invite])).map(codeOf).sort()).toEqual([
      [201, undefined],
      [409, 'CONFLICT'],
      [409, 'CONFLICT'],
    ])
    expect(codeOf(await withdraw(`${email}\0x`))).toEqual([404, 'INVITATION_NOT_FOUND'])
    expect((await withdraw(email.toUpperCase())).status).toBe(204)
    expect(codeOf(await withdraw(email))).toEqual([404, 'INVITATION_NOT_FOUND'])
    expect((await invite()).status).toBe(201)
    await withdraw(email)
    expect(await seen(id, await register(email))).toEqual([])
  })

  it('and a registration at once leave a member, whichever comes first', async () => {
    for (let round = 0; round < 4; round++) {
      const [id, email] = [await newProject(), addressOf('Race')]
      const invite = () => request('POST', `/api/projects/${id}/members`, owner, { email }).then(({ status }) => status)
      const join = () =>
        board
          .request('POST', '/api/auth/register', { token: null, body: { email, password: 'a long password' } })
          .then(({ status }) => status)
      expect(await atOnce(board, round % 2 === 0 ? [invite, join] : [join, invite])).toEqual([201, 201])
      expect(await membersOf(id)).toEqual([[email, 'member', false]])
    }
  })

  it('does not make the first user a member of what passes to him or her', async () => {
    const fresh = await startBoard()
    const { id } = await fresh.client.projects.create({ name: 'P', path: fresh.folder('p') })
    await fresh.client.members.add({ id, email: 'ada@example.org', role: 'viewer' })
    const ada = fresh.as((await fresh.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })).token)
    expect(await ada.members.list({ id })).toEqual([])
    expect(await ada.projects.get({ id })).toMatchObject({ role: 'admin' })
    await fresh.close()
  })

  it('checks what it is given', async () => {
    const id = await newProject()
    for (const body of [
      {},
      { email: 'nobody' },
      { email: 'x@example.org', role: 'owner' },
      { email: 'x@example.org', userId: '1' },
    ])
      expect(codeOf(await request('POST', `/api/projects/${id}/members`, owner, body))).toEqual([
        400,
        'VALIDATION_FAILED',
      ])
  })
})
