import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { Permission } from '../../src/contract/route.ts'
import { WebSocket } from 'undici'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow, openRaw, openSocket, type LiveSocket } from '../support/receivers/liveSocket.ts'

let board: TestBoard
let ahead = 0
const sockets: LiveSocket[] = []
const opened = <T extends LiveSocket>(socket: T) => {
  sockets.push(socket)
  return socket
}
const logged = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
const withinASecond = 1000

beforeAll(async () => {
  board = await startBoard({ logLevel: 'info', clock: () => new Date(Date.now() + ahead) })
  await board.client.auth.setup({ email: 'root@example.com', password: 'correct horse' })
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})
afterAll(async () => {
  await board.close()
  logged.mockRestore()
})

let users = 0
const signUp = async () =>
  (await board.client.auth.register({ email: `user${++users}@example.com`, password: 'correct horse' })).token
const newProject = (token = board.token) =>
  board.as(token).projects.create({ name: 'Live', path: board.folder('live') })
const newKey = (permissions: Permission[], scope: object = { scope: 'server' }, rest: object = {}) =>
  board.client.keys.create({ name: 'Key', permissions, ...scope, ...rest } as never)

test.each([
  ['missing', undefined],
  ['empty', ''],
  ['invalid', 'svc_st_nonsense'],
])('a socket with a token that is %s is closed with 4001', async (_, token) => {
  const live = opened(await openSocket(board.url, token))
  expect((await live.untilClosed()).code).toBe(4001)
  expect(live.messages).toEqual([])
})

test('a browser sends its token as a subprotocol, of which only the name is returned, and no address holds the token', async () => {
  const socketOf = (...protocols: string[]) => new WebSocket(`${board.url.replace('http', 'ws')}/api/ws`, protocols)
  const socket = socketOf('board', `bearer.${board.token}`)
  const told = await new Promise((resolve, reject) => {
    socket.addEventListener('error', ({ message }) => reject(new Error(message)))
    socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'ping' })))
    socket.addEventListener('message', ({ data }) => resolve(JSON.parse(data as string).type))
  })
  expect([told, socket.protocol]).toEqual(['pong', 'board'])
  socket.close()
  const closed = (each: WebSocket) =>
    new Promise(resolve => each.addEventListener('close', ({ code }) => resolve(code)))
  expect(await closed(socketOf('board', 'bearer.svc_st_nonsense'))).toBe(4001)
  expect(await closed(socketOf('board'))).toBe(4001)
})

test('a socket whose token is signed out is closed with 4001 within a second, and another of the same account is not', async () => {
  const login = () => board.client.auth.login({ email: 'root@example.com', password: 'correct horse' })
  const [{ token }, other] = [await login(), await login()]
  const live = opened(await openSocket(board.url, token))
  const stays = opened(await openSocket(board.url, other.token))
  await board.as(token).auth.logout()
  expect((await live.untilClosed(withinASecond)).code).toBe(4001)
  stays.send({ type: 'ping' })
  await stays.message('pong')
})

test('a socket whose API key is revoked is closed with 4001 within a second', async () => {
  const { id, key } = await newKey(['cards.read'])
  const live = opened(await openSocket(board.url, key))
  await board.client.keys.revoke({ id })
  expect((await live.untilClosed(withinASecond)).code).toBe(4001)
})

test('a socket whose token expires is closed with 4001 within a second', async () => {
  const { key } = await newKey(['cards.read'], undefined, {
    expiresAt: new Date(Date.now() + ahead + 60_000).toISOString(),
  })
  const token = await signUp()
  const [byKey, bySignIn] = [opened(await openSocket(board.url, key)), opened(await openSocket(board.url, token))]
  ahead += 61_000
  expect((await byKey.untilClosed(withinASecond)).code).toBe(4001)
  expect(bySignIn.closed).toBeUndefined()
  // A day later the token is deleted, and its expiry can no longer be reported.
  ahead += 30 * 86_400_000
  expect(await bySignIn.untilClosed(withinASecond)).toEqual({ code: 4001, reason: 'The token has expired.' })
})

test('a foreign project looks missing', async () => {
  const token = await signUp()
  const { id } = await newProject()
  const live = opened(await openSocket(board.url, token))
  for (const projectId of [id, '999999', 999_999, 0, -1, 1e300])
    live.send({ type: 'subscribe', payload: { projectId } })
  await eventually('all answers', () => live.messages.length === 6)
  const [foreign, missing] = live.messages
  expect(foreign).toEqual({
    type: 'error',
    data: { code: 'PROJECT_NOT_FOUND', message: 'Project not found.', projectId: id },
  })
  expect(JSON.stringify(foreign).replaceAll(`"${id}"`, '"999999"')).toBe(JSON.stringify(missing))
  await board.client.cards.create({ projectId: id, title: 'secret' })
  live.send({ type: 'ping' })
  await live.message('pong')
  expect(live.seqs()).toEqual([])
})

test('an API key requires cards.read and the project in its scope', async () => {
  const [inside, outside] = [await newProject(), await newProject()]
  const writer = opened(await openSocket(board.url, (await newKey(['cards.create'])).key))
  writer.send({ type: 'subscribe', payload: { projectId: inside.id } })
  expect((await writer.message('error')).data.code).toBe('INSUFFICIENT_PERMISSIONS')
  const reader = opened(
    await follow(board.url, (await newKey(['cards.read'], { scope: 'project', projectId: inside.id })).key, inside.id),
  )
  reader.send({ type: 'subscribe', payload: { projectId: outside.id } })
  expect((await reader.message('error')).data.code).toBe('PROJECT_NOT_FOUND')
  await board.client.cards.create({ projectId: outside.id, title: 'outside' })
  await board.client.cards.create({ projectId: inside.id, title: 'inside' })
  expect((await reader.message('card.created')).data.title).toBe('inside')
})

test('a user who loses access to a project receives none of its events after one second', async () => {
  const organization = await board.client.organizations.create({ name: 'Org' })
  const project = await board.client.projects.create({
    name: 'Live',
    path: board.folder('live'),
    organizationId: organization.id,
  })
  const live = opened(
    await follow(
      board.url,
      (await newKey(['cards.read'], { scope: 'organization', organizationId: organization.id })).key,
      project.id,
    ),
  )
  await board.client.projects.update({ id: project.id, organizationId: null })
  const refusal = await eventually(
    'the end of the subscription',
    () => live.messages.find(message => message.type === 'error'),
    withinASecond,
  )
  expect(refusal.data).toMatchObject({ code: 'PROJECT_NOT_FOUND', projectId: project.id })
  await board.client.cards.create({ projectId: project.id, title: 'unheard' })
  live.send({ type: 'ping' })
  await live.message('pong')
  expect(live.messages.some(message => message.type === 'card.created')).toBe(false)
})

test('a removed member receives no events after a second', async () => {
  const token = await signUp()
  const { id } = await newProject()
  const { db } = board.server.app
  const me = await board.as(token).auth.me()
  await db.transaction(tx =>
    tx.run('INSERT INTO project_members VALUES (?, ?, ?, ?)', [Number(id), Number(me.id), 'viewer', tx.now]),
  )
  const live = opened(await follow(board.url, token, id))
  await board.client.cards.create({ projectId: id, title: 'heard' })
  await live.message('card.created')
  await db.transaction(tx => tx.run('DELETE FROM project_members WHERE project_id = ?', [Number(id)]))
  await eventually(
    'the end of the subscription',
    () => live.messages.find(message => message.type === 'error'),
    withinASecond,
  )
  await board.client.cards.create({ projectId: id, title: 'unheard' })
  live.send({ type: 'ping' })
  await live.message('pong')
  expect(live.seqs()).toHaveLength(1)
})

test('another path, a foreign Origin and a foreign Host are rejected before the upgrade', async () => {
  const path = `/api/ws?token=${board.token}`
  const head = async (...request: [string, Record<string, string>?]) => {
    const raw = await openRaw(board.url, ...request)
    await eventually('the end of the connection', () => raw.socket.destroyed)
    return raw.received().toString()
  }
  for (const other of [
    '/',
    '/api',
    '/api/ws/',
    '/api/wsx',
    '/API/WS',
    '/api/projects',
    `/api/events?token=${board.token}`,
    '/x?/api/ws',
    '//api/ws',
  ])
    expect(await head(other)).toMatch(/^HTTP\/1\.1 404 Not Found\r\n[^]*\r\n\r\n\{"error":\{"code":"NOT_FOUND"/)
  expect(await head(path, { Origin: 'https://evil.example' })).toMatch(
    /^HTTP\/1\.1 403 Forbidden\r\n[^]*ORIGIN_NOT_ALLOWED/,
  )
  expect(await head(path, { Host: 'evil.example' })).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[^]*HOST_NOT_ALLOWED/)
  expect(await head(path, { 'Sec-WebSocket-Key': 'short' })).toMatch(/^HTTP\/1\.1 400 /)
  const own = await openRaw(board.url, path, { Origin: board.url })
  expect(own.received().toString()).toMatch(/^HTTP\/1\.1 101 /)
  expect(own.received().toString()).not.toMatch(/permessage-deflate/i)
  own.socket.destroy()
})

test('no token is in the log', () => {
  const log = logged.mock.calls.map(([line]) => String(line)).join('')
  expect(log).not.toMatch(/svc_|token=/)
})
