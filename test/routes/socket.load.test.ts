import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { follow, openRaw, openSocket, type LiveSocket, type RawSocket } from '../support/receivers/liveSocket.ts'

let board: TestBoard
const sockets: LiveSocket[] = []
const opened = <T extends LiveSocket>(socket: T) => {
  sockets.push(socket)
  return socket
}

const logged = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
const closeFrame4008 = Buffer.from([0x0f, 0xa8])

beforeAll(async () => {
  board = await startBoard({ logLevel: 'info' })
})
beforeEach(() => {
  logged.mockClear()
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})
afterAll(async () => {
  await board.close()
  logged.mockRestore()
})

const newProject = async (name = 'Live') => (await board.client.projects.create({ name, path: board.folder(name) })).id
const open = async () => opened(await openSocket(board.url, board.token))

/** Creates events of 64 KiB each. */
async function makeNews(projectId: string, count: number): Promise<void> {
  const card = await board.client.cards.create({ projectId, title: 'large' })
  for (let index = 0; index < count; index++)
    await board.client.cards.update({ projectId, cardId: card.id, prompt: `${index}:`.padEnd(65_536, 'x') })
}

/** A client that follows a project and stops reading. */
async function stall(projectId: string): Promise<RawSocket> {
  const raw = await openRaw(board.url, `/api/ws?token=${board.token}`)
  raw.frame(JSON.stringify({ type: 'subscribe', payload: { projectId } }))
  await eventually('the subscription', () => raw.received().includes('subscribed'))
  raw.socket.pause()
  return raw
}

test.each([
  ['broken JSON', '{"type":', 'INVALID_JSON'],
  ['an empty message', '', 'INVALID_JSON'],
  ['a list', '[]', 'VALIDATION_FAILED'],
  ['null', 'null', 'VALIDATION_FAILED'],
  ['an unknown type', '{"type":"publish","payload":{}}', 'VALIDATION_FAILED'],
  ['no payload', '{"type":"subscribe"}', 'VALIDATION_FAILED'],
  ['an unknown field', '{"type":"subscribe","payload":{"projectId":"1","all":true}}', 'VALIDATION_FAILED'],
  [
    'a project that is not an id',
    '{"type":"subscribe","payload":{"projectId":"1; DROP TABLE events"}}',
    'VALIDATION_FAILED',
  ],
  ['a since that is not a number', '{"type":"subscribe","payload":{"projectId":"1","since":"0"}}', 'VALIDATION_FAILED'],
  ['deep nesting', '['.repeat(30_000), 'INVALID_JSON'],
])('%s gets an error, and the socket stays open', async (_, text, code) => {
  const live = await open()
  live.send(text)
  expect((await live.message('error')).data).toEqual({ code, message: expect.any(String) })
  live.send({ type: 'ping' })
  await live.message('pong')
})

test('a binary message gets an error', async () => {
  const live = await open()
  live.send(new TextEncoder().encode('{"type":"ping"}'))
  expect((await live.message('error')).data).toEqual({ code: 'VALIDATION_FAILED', message: 'A message must be text.' })
})

test('a message over 64 KiB closes the socket with 1009, one of 64 KiB is read', async () => {
  const live = await open()
  live.send(JSON.stringify({ type: 'ping', payload: '' }).padEnd(65_536, ' '))
  await live.message('pong')
  live.send(JSON.stringify({ type: 'ping', payload: '' }).padEnd(65_537, ' '))
  expect((await live.untilClosed()).code).toBe(1009)
  await eventually('the server to forget the socket', () => board.server.sockets() === 0)
})

test('text that is not UTF-8 and frames that break the protocol close only that socket', async () => {
  const witness = await open()
  for (const bytes of [
    [0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe],
    [0x81, 0x02, 0x7b, 0x7d],
    [0xf1, 0x80, 0, 0, 0, 0],
    [0x83, 0x80, 0, 0, 0, 0],
  ]) {
    const raw = await openRaw(board.url, `/api/ws?token=${board.token}`)
    raw.socket.write(Buffer.from(bytes))
    await eventually('the end of the connection', () => raw.socket.destroyed)
  }
  witness.send({ type: 'ping' })
  expect(await witness.message('pong')).toBeDefined()
})

test('a flood of messages or pings is closed with 4008', async () => {
  const live = await open()
  for (let index = 0; index < 101; index++) live.send({ type: 'ping' })
  expect((await live.untilClosed()).code).toBe(4008)
  const raw = await openRaw(board.url, `/api/ws?token=${board.token}`)
  for (let index = 0; index < 101; index++) raw.frame('', 9)
  await eventually('the close frame', () => raw.received().includes(closeFrame4008))
  raw.socket.destroy()
})

test('a client that stops reading is closed with 4008, and dropped if it does not read that, while another gets every event', async () => {
  const projectId = await newProject()
  const healthy = opened(await follow(board.url, board.token, projectId))
  const [resuming, dead] = [await stall(projectId), await stall(projectId)]
  const before = board.server.sockets()
  await makeNews(projectId, 200)
  await healthy.message('card.updated', message => message.data.prompt.startsWith('199:'))
  expect(healthy.seqs()).toHaveLength(201)
  await eventually('the closes', () => logged.mock.calls.filter(([line]) => String(line).includes('4008')).length === 2)
  resuming.socket.resume()
  // The client has three seconds to read the earlier messages: on a slow machine it can be dropped instead.
  await eventually(
    'the close frame',
    () => resuming.received().includes(closeFrame4008) || (slowdown() > 2 && resuming.socket.destroyed),
  )
  await eventually('the end of both', () => board.server.sockets() === before - 2)
  dead.socket.resume()
  await eventually('the end of the connection', () => dead.socket.destroyed)
  expect(dead.received().length).toBeLessThan(10 * 1024 * 1024)
  expect(healthy.closed).toBeUndefined()
})

test('a slow client gets every event in order, once', async () => {
  const projectId = await newProject()
  const slow = await stall(projectId)
  // A client that reads nothing for three seconds is dropped, which can take all events on a slow machine.
  let isSlow = true
  slow.socket.on('data', () => {
    if (isSlow) slow.socket.pause()
  })
  const sips = setInterval(() => slow.socket.resume(), 500)
  await makeNews(projectId, 150)
  clearInterval(sips)
  isSlow = false
  slow.socket.resume()
  await eventually('the last event', () => slow.received().subarray(-70_000).includes('"149:x'))
  const news = slow
    .received()
    .toString('latin1')
    .match(/"prompt":"\d+:x/g)!
    .map(text => Number(text.match(/\d+/)))
  expect(news).toEqual(Array.from({ length: 150 }, (_, index) => index))
  slow.socket.destroy()
})

test('replays to clients that do not read use little memory on the server', async () => {
  const projectId = await newProject()
  await makeNews(projectId, 200)
  const stalled = await Promise.all(Array.from({ length: 8 }, () => openRaw(board.url, `/api/ws?token=${board.token}`)))
  const before = process.memoryUsage().arrayBuffers
  for (const raw of stalled) {
    raw.socket.pause()
    raw.frame(JSON.stringify({ type: 'subscribe', payload: { projectId, since: 0 } }))
  }
  const live = opened(await follow(board.url, board.token, projectId, 0))
  expect(live.messages.filter(message => message.type === 'card.updated')).toHaveLength(200)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(30 * 1024 * 1024)
  for (const raw of stalled) raw.socket.destroy()
})

test('a request with another protocol is answered like any other, including its body', async () => {
  const path = board.folder('h2c')
  const body = JSON.stringify({ name: 'Offered', path })
  const raw = await openRaw(board.url, '/api/health', {
    Connection: 'Upgrade, HTTP2-Settings',
    Upgrade: 'h2c',
    'HTTP2-Settings': 'AAMAAABkAAQCAAAAAAIAAAAA',
  })
  await eventually('the first answer', () => raw.received().includes('HTTP/1.1 200'))
  raw.socket.write(
    `POST /api/projects HTTP/1.1\r\nHost: ${new URL(board.url).host}\r\nConnection: close, Upgrade\r\nUpgrade: h2c\r\nAuthorization: Bearer ${board.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  raw.socket.write(body.slice(0, 5))
  setImmediate(() => raw.socket.write(body.slice(5)))
  await eventually('the end of the connection', () => raw.socket.destroyed)
  expect(raw.received().toString()).toMatch(/HTTP\/1\.1 201[^]*"name":"Offered"/)
  const tooMany = Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`X${index}`, '']))
  const refused = await openRaw(board.url, '/api/health', { Upgrade: 'h2c', ...tooMany })
  expect(refused.received()).toHaveLength(0)
})

test('when the server stops, sockets are closed with 1001, and one that does not answer is dropped after two seconds', async () => {
  const stopping = await startBoard()
  const live = await openSocket(stopping.url, stopping.token)
  const deaf = await openRaw(stopping.url, `/api/ws?token=${stopping.token}`)
  const began = performance.now()
  await stopping.close()
  expect(performance.now() - began).toBeLessThan(4000 * slowdown())
  expect((await live.untilClosed()).code).toBe(1001)
  await eventually('the end of the deaf connection', () => deaf.socket.destroyed)
})
