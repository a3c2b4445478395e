import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import type { Permission } from '../../src/contract/route.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { follow, openSocket, type LiveSocket } from '../support/receivers/liveSocket.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

interface Person {
  id: string
  email: string
  token: string
  client: Client
}

let board: TestBoard
let aheadMs = 0
let root: Person
let owner: Person
const sockets: LiveSocket[] = []
const opened = async (socket: Promise<LiveSocket>) => {
  sockets.push(await socket)
  return socket
}

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(Date.now() + aheadMs), externalRequestsPerMinute: Infinity })
  root = enter(await board.as().auth.setup({ email: 'root@example.org', password: 'root password' }))
  owner = await person()
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
const person = async () =>
  enter(await registerConfirmed(board, { email: `p${++made}@example.org`, password: 'a long password' }))
const request = (
  method: string,
  path: string,
  token: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<Reply> => board.request(method, path, { token, body, headers })
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
const newKey = ({ client }: Person, permissions: Permission[], scope: object = { scope: 'server' }) =>
  client.keys.create({ name: 'k', permissions, ...scope } as never)
const stats = (projectId: string, key: string) => request('GET', `/api/external/projects/${projectId}/stats`, key)
const missing = [404, 'PROJECT_NOT_FOUND']
const forbidden = [403, 'FORBIDDEN']

/** Waits for a second as this process measures it: a busy machine delays the server and the test alike. */
async function withinASecond<T>(what: string, condition: () => T | undefined): Promise<T> {
  for (let tick = 0; tick < 20; tick++) {
    const result = condition()
    if (result !== undefined) return result
    await delay(50)
  }
  throw new Error(`A second went by without ${what}`)
}

/** No events of the project arrive, but the socket stays open while its token is valid. */
async function expectDeaf(projectId: string, ...all: LiveSocket[]): Promise<void> {
  for (const live of all) {
    const { data } = await withinASecond('the end of the subscription', () =>
      live.messages.find(({ type }) => type === 'error'),
    )
    expect(data).toMatchObject({ code: 'PROJECT_NOT_FOUND', projectId })
  }
  await board.client.cards.create({ projectId, title: 'unheard' })
  for (const live of all) {
    live.send({ type: 'ping' })
    await live.message('pong')
    expect(live.messages.filter(({ type }) => type === 'card.created')).toEqual([])
  }
}

async function expectHearing(projectId: string, live: LiveSocket): Promise<void> {
  const { id } = await board.client.cards.create({ projectId, title: 'heard' })
  await live.message('card.created', ({ data }) => data.id === id)
}

const expectClosed = async (live: LiveSocket) =>
  expect((await withinASecond('the end of the socket', () => live.closed)).code).toBe(4001)

/** An organization of the owner with another member, and a project in it. */
async function shared(one: Person, role: 'admin' | 'member'): Promise<{ organizationId: string; projectId: string }> {
  const { id: organizationId } = await owner.client.organizations.create({ name: 'Org' })
  await owner.client.organizations.addMember({ id: organizationId, email: one.email, role })
  return {
    organizationId,
    projectId: (await owner.client.projects.create({ name: 'Shared', path: board.folder('shared'), organizationId }))
      .id,
  }
}

describe("the end of an organization's membership", () => {
  it('applies to the next request of the account and of its keys, and to their sockets within a second', async () => {
    const one = await person()
    const { organizationId, projectId } = await shared(one, 'member')
    const { key } = await newKey(one, ['cards.read'], { scope: 'organization', organizationId })
    const live = [
      await opened(follow(board.url, one.token, projectId)),
      await opened(follow(board.url, key, projectId)),
    ]
    expect((await stats(projectId, key)).status).toBe(200)
    await owner.client.organizations.removeMember({ id: organizationId, userId: one.id })
    expect(codeOf(await stats(projectId, key))).toEqual(missing)
    expect(codeOf(await request('GET', `/api/projects/${projectId}`, one.token))).toEqual(missing)
    expect(codeOf(await request('GET', `/api/organizations/${organizationId}`, one.token))).toEqual([
      404,
      'ORGANIZATION_NOT_FOUND',
    ])
    await expectDeaf(projectId, ...live)
  })

  it('applies likewise when the project leaves the organization', async () => {
    const one = await person()
    const { projectId } = await shared(one, 'admin')
    const live = await opened(follow(board.url, one.token, projectId))
    await owner.client.projects.update({ id: projectId, organizationId: null })
    expect(codeOf(await request('GET', `/api/projects/${projectId}`, one.token))).toEqual(missing)
    expect(await one.client.projects.list()).toEqual([])
    await expectDeaf(projectId, live)
  })
})

describe('a smaller role', () => {
  it('in an organization ends management at the next request, and keeps read access', async () => {
    const one = await person()
    const { organizationId, projectId } = await shared(one, 'admin')
    const { key } = await newKey(one, ['boards.write'])
    const live = await opened(follow(board.url, one.token, projectId))
    const { id: boardId } = await one.client.boards.create({ projectId, name: 'Second' })
    await one.client.projects.update({ id: projectId, name: 'Mine' })
    await owner.client.organizations.updateMember({ id: organizationId, userId: one.id, role: 'member' })
    expect(codeOf(await request('DELETE', `/api/projects/${projectId}/boards/${boardId}`, key))).toEqual(forbidden)
    for (const [method, path, body] of [
      ['PATCH', `/api/organizations/${organizationId}`, { name: 'X' }],
      ['PATCH', `/api/projects/${projectId}`, { name: 'X' }],
      ['DELETE', `/api/organizations/${organizationId}/members/${owner.id}`],
    ] as const)
      expect(codeOf(await request(method, path, one.token, body))).toEqual(forbidden)
    expect((await one.client.projects.get({ id: projectId })).role).toBe('member')
    await expectHearing(projectId, live)
  })

  it("in a project applies to the next request of the account's keys also", async () => {
    const [one, { id: projectId }] = [
      await person(),
      await owner.client.projects.create({ name: 'P', path: board.folder('p') }),
    ]
    await owner.client.members.add({ id: projectId, email: one.email, role: 'admin' })
    const { key } = await newKey(one, ['cards.create', 'cards.read'], { scope: 'project', projectId })
    const live = await opened(follow(board.url, key, projectId))
    const create = () => request('POST', `/api/external/projects/${projectId}/cards`, key, { title: 'T' })
    const manage = () => request('PATCH', `/api/projects/${projectId}`, one.token, { name: 'Mine' })
    expect([(await create()).status, (await manage()).status]).toEqual([201, 200])
    await owner.client.members.update({ projectId, userId: one.id, role: 'viewer' })
    expect([codeOf(await create()), codeOf(await manage())]).toEqual([forbidden, forbidden])
    await expectHearing(projectId, live)
    await owner.client.members.update({ projectId, userId: one.id, role: 'member' })
    expect([(await create()).status, codeOf(await manage())]).toEqual([201, forbidden])
  })

  it("on the server ends access of the account's keys to foreign projects, and of their sockets within a second", async () => {
    const [admin, { id: projectId }] = [
      await person(),
      await owner.client.projects.create({ name: 'P', path: board.folder('p') }),
    ]
    await root.client.users.update({ id: admin.id, role: 'super_admin' })
    const { key } = await newKey(admin, ['cards.read'])
    const live = await opened(follow(board.url, key, projectId))
    const settings = () => request('GET', '/api/settings/auth', admin.token)
    expect([(await stats(projectId, key)).status, (await settings()).status]).toEqual([200, 200])
    await root.client.users.update({ id: admin.id, role: 'admin' })
    expect([(await stats(projectId, key)).status, codeOf(await settings())]).toEqual([200, forbidden])
    await root.client.users.update({ id: admin.id, role: 'user' })
    expect(codeOf(await stats(projectId, key))).toEqual(missing)
    await expectDeaf(projectId, live)
  })
})

it('a greater role applies to the next request, and to an open socket within a second', async () => {
  const [one, { id: projectId }] = [
    await person(),
    await owner.client.projects.create({ name: 'P', path: board.folder('p') }),
  ]
  const live = await opened(openSocket(board.url, one.token))
  const subscribe = () => live.send({ type: 'subscribe', payload: { projectId } })
  subscribe()
  await live.message('error')
  await root.client.users.update({ id: one.id, role: 'admin' })
  expect((await one.client.projects.get({ id: projectId })).role).toBe('admin')
  await withinASecond('a subscription', () => {
    subscribe()
    return live.messages.find(({ type }) => type === 'subscribed')
  })
  await expectHearing(projectId, live)
})

describe('a rotated key', () => {
  it('closes its sockets within a second, and none of the new key', async () => {
    const { id, key } = await newKey(owner, ['cards.read'])
    const old = await opened(openSocket(board.url, key))
    const rotated = await owner.client.keys.rotate({ id })
    const fresh = await opened(openSocket(board.url, rotated.key))
    await expectClosed(old)
    fresh.send({ type: 'ping' })
    await fresh.message('pong')
  })

  it('closes them within a second after its grace', async () => {
    const { id, key } = await newKey(owner, ['cards.read'])
    const live = await opened(openSocket(board.url, key))
    await owner.client.keys.rotate({ id, graceSecs: 60 })
    live.send({ type: 'ping' })
    await live.message('pong')
    expect(live.closed).toBeUndefined()
    aheadMs += 60_000
    await expectClosed(live)
  })
})

describe('a password reset', () => {
  it("ends every sign-in of the account, also of the administrator who resets it, and no other account's", async () => {
    const admin = await person()
    await root.client.users.update({ id: admin.id, role: 'admin' })
    const other = enter(await board.as().auth.login({ email: admin.email, password: 'a long password' }))
    const live = [await opened(openSocket(board.url, admin.token)), await opened(openSocket(board.url, other.token))]
    const stays = await opened(openSocket(board.url, owner.token))
    await admin.client.users.resetPassword({ id: admin.id })
    for (const { token } of [admin, other])
      expect(codeOf(await request('GET', '/api/auth/me', token))).toEqual([401, 'UNAUTHENTICATED'])
    for (const socket of live) await expectClosed(socket)
    stays.send({ type: 'ping' })
    await stays.message('pong')
  })
})

describe('a deleted account', () => {
  it('keeps the sockets of other members of its projects, which get new owners', async () => {
    const [gone, one] = [await person(), await person()]
    const { id: projectId } = await gone.client.projects.create({ name: 'P', path: board.folder('p') })
    await gone.client.members.add({ id: projectId, email: one.email, role: 'viewer' })
    const [live, ended] = [
      await opened(follow(board.url, one.token, projectId)),
      await opened(follow(board.url, gone.token, projectId)),
    ]
    await root.client.users.delete({ id: gone.id })
    expect(codeOf(await request('GET', `/api/projects/${projectId}`, gone.token))).toEqual([401, 'UNAUTHENTICATED'])
    await expectClosed(ended)
    expect(await one.client.projects.get({ id: projectId })).toMatchObject({ role: 'viewer', ownerId: root.id })
    await expectHearing(projectId, live)
  })
})

it('an Idempotency-Key does not replay a response to a user who lost access to the project', async () => {
  const [one, { id: projectId }] = [
    await person(),
    await owner.client.projects.create({ name: 'P', path: board.folder('p') }),
  ]
  await owner.client.members.add({ id: projectId, email: one.email })
  const { key } = await newKey(one, ['cards.create'])
  const sent = [
    () => request('POST', '/api/cards', one.token, { projectId, title: 'secret' }, { 'idempotency-key': 'a' }),
    () =>
      request('POST', `/api/projects/${projectId}/boards`, one.token, { name: 'secret' }, { 'idempotency-key': 'b' }),
    () =>
      request(
        'POST',
        `/api/external/projects/${projectId}/cards`,
        key,
        { title: 'secret' },
        { 'idempotency-key': 'c' },
      ),
  ]
  const first = await Promise.all(sent.map(send => send()))
  expect(first.map(({ status }) => status)).toEqual([201, 201, 201])
  expect((await Promise.all(sent.map(send => send()))).map(({ text }) => text)).toEqual(first.map(({ text }) => text))
  await owner.client.members.remove({ projectId, userId: one.id })
  const again = await Promise.all(sent.map(send => send()))
  expect(again.map(codeOf)).toEqual([missing, missing, missing])
  expect(again.map(({ text }) => text).join('')).not.toContain('secret')
})
