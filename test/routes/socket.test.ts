import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { deleteOldestEvents } from '../../src/store/server/events.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow, openSocket, type LiveSocket } from '../support/receivers/liveSocket.ts'

let board: TestBoard
const sockets: LiveSocket[] = []
const opened = <T extends LiveSocket>(socket: T) => {
  sockets.push(socket)
  return socket
}

beforeAll(async () => {
  board = await startBoard()
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})
afterAll(() => board.close())

const newProject = async (name = 'Live', client = board.client) =>
  (await client.projects.create({ name, path: board.folder(name) })).id
const create = (projectId: string, title: string, prompt = '') =>
  board.client.cards.create({ projectId, title, prompt })
const following = async (projectId: string, since?: number) =>
  opened(await follow(board.url, board.token, projectId, since))

/** Delays reads randomly until the test is done. */
function slowDown(latencyMs: number): void {
  const { db } = board.server.app
  const { get, all } = db
  const late =
    (read: typeof get) =>
    async (...args: Parameters<typeof get>) => {
      await delay(Math.random() * latencyMs)
      const result = await read(...args)
      await delay(Math.random() * latencyMs)
      return result
    }
  if (latencyMs > 0) Object.assign(db, { get: late(get), all: late(all as typeof get) })
  onTestFinished(() => {
    Object.assign(db, { get, all })
  })
}

test('a ping gets a pong', async () => {
  const live = opened(await openSocket(board.url, board.token))
  live.send({ type: 'ping' })
  expect(await live.message('pong')).toEqual({ type: 'pong', data: {} })
})

test('the token can also come in the Authorization header', async () => {
  const live = opened(await openSocket(board.url, board.token, { authorization: `Bearer ${board.token}` }))
  live.send({ type: 'ping' })
  expect(await live.message('pong')).toBeDefined()
})

test('a subscriber receives each change of its project with type, data, seq, project and time', async () => {
  const projectId = await newProject()
  const other = await newProject('Other')
  const live = await following(projectId)
  expect(live.messages[0]).toEqual({ type: 'subscribed', data: { projectId, seq: expect.any(Number) } })
  await create(other, 'not for this socket')
  // The watching state is the caller's, so no event contains it.
  const { watching: _, ...card } = await create(projectId, 'first')
  const { seq, at, ...event } = await live.message('card.created')
  expect(event).toEqual({ type: 'card.created', data: card, projectId })
  expect(seq).toBeGreaterThan(live.messages[0].data.seq)
  expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(10_000)
  const second = await create(projectId, 'second')
  await board.client.cards.move({ projectId, cardId: second.id, columnId: card.columnId, position: 0 })
  const moved = await live.message('card.moved')
  expect(moved.data).toMatchObject({
    id: second.id,
    from: { columnId: card.columnId, position: 1 },
    to: { columnId: card.columnId, position: 0 },
  })
  expect(live.messages.map(message => message.type)).toEqual([
    'subscribed',
    'card.created',
    'card.created',
    'card.moved',
  ])
})

test("a project's id can be a number, and a second subscription changes nothing", async () => {
  const projectId = await newProject()
  const live = await following(projectId)
  live.send({ type: 'subscribe', payload: { projectId: Number(projectId) } })
  await eventually('the second answer', () => live.messages.length === 2)
  await create(projectId, 'once')
  await live.message('card.created')
  live.send({ type: 'ping' })
  await live.message('pong')
  expect(live.messages.map(message => message.type)).toEqual(['subscribed', 'subscribed', 'card.created', 'pong'])
})

test('after unsubscribe no more events are sent', async () => {
  const projectId = await newProject()
  const live = await following(projectId)
  const witness = await following(projectId)
  live.send({ type: 'unsubscribe', payload: { projectId } })
  live.send({ type: 'ping' })
  await live.message('pong')
  await create(projectId, 'unheard')
  await witness.message('card.created')
  live.send({ type: 'ping' })
  await eventually('the second pong', () => live.messages.filter(message => message.type === 'pong').length === 2)
  expect(live.seqs()).toEqual([])
})

test('a subscriber with since gets the missed events first, then the confirmation, then new events', async () => {
  const projectId = await newProject()
  const first = await following(projectId, 0)
  for (let index = 0; index < 80; index++) await create(projectId, `card ${index}`)
  await eventually('all events', () => first.messages.filter(message => message.type === 'card.created').length === 80)
  const since = first.seqs()[10]!
  const live = await following(projectId, since)
  expect(live.seqs()).toEqual(first.seqs().slice(11))
  expect(live.messages.at(-1).type).toBe('subscribed')
  expect(live.messages.at(-1).data.seq).toBeGreaterThanOrEqual(first.seqs().at(-1)!)
  await create(projectId, 'new')
  await live.message('card.created', message => message.data.title === 'new')
  expect(live.messages.slice(0, -2)).toEqual(
    first.messages.filter(message => message.seq > since && message.data.title !== 'new'),
  )
})

test.each([
  ['at once', 0],
  ['late, as a database on another machine does', 10],
])(
  'between replay and live no event is lost or duplicated, while others write and reads answer %s',
  async (_, latencyMs) => {
    slowDown(latencyMs)
    const projectId = await newProject()
    const noise = await newProject('Noise')
    const whole = await following(projectId, 0)
    const joined: Array<{ live: LiveSocket; since: number }> = []
    const join = async () => {
      while (joined.length < 40) {
        const since = whole.seqs()[Math.floor(Math.random() * whole.seqs().length)] ?? 0
        joined.push({ live: await following(projectId, since), since })
      }
    }
    const write = async (writer: number) => {
      for (let index = 0; index < 60 || joined.length < 40; index++) {
        await create(index % 4 === 0 ? noise : projectId, `${writer}.${index}`)
        await delay(latencyMs)
      }
    }
    await Promise.all([join(), join(), join(), ...[1, 2, 3, 4].map(write)])
    await create(projectId, 'the end')
    for (const { live } of [{ live: whole }, ...joined])
      await live.message('card.created', message => message.data.title === 'the end')
    const expected = (await following(projectId, 0)).seqs()
    expect(expected.length).toBeGreaterThan(180)
    expect(whole.seqs()).toEqual(expected)
    for (const { live, since } of joined) expect(live.seqs()).toEqual(expected.filter(seq => seq > since))
  },
)

test('many concurrent events reach every subscriber in order', async () => {
  const projectId = await newProject()
  const all = await Promise.all(Array.from({ length: 10 }, () => following(projectId)))
  await Promise.all(Array.from({ length: 200 }, (_, index) => create(projectId, `card ${index}`)))
  await eventually('all events', () => all.every(live => live.seqs().length === 200))
  for (const live of all) expect(live.seqs()).toEqual(all[0]!.seqs())
  expect(all[0]!.seqs()).toEqual(all[0]!.seqs().toSorted((a, b) => a - b))
})

test('a subscriber that missed more events than are kept gets a resync, and then new events', async () => {
  const projectId = await newProject()
  await create(projectId, 'old')
  const last = await board.server.app.outbox.lastSeq()
  await board.server.app.db.transaction(async tx => {
    // Events are kept until every reader has recorded that it has processed them.
    await tx.run('UPDATE event_cursors SET seq = ?', [last])
    await deleteOldestEvents(tx, '9999', 1, 1_000_000)
  })
  const live = await following(projectId, last - 2)
  expect(live.messages).toEqual([
    { type: 'resync', data: { projectId, seq: last }, seq: last, projectId, at: expect.any(String) },
    { type: 'subscribed', data: { projectId, seq: last } },
  ])
  expect((await following(projectId, last - 1)).seqs()).toEqual([last])
  await create(projectId, 'new')
  expect((await live.message('card.created')).data.title).toBe('new')
})

test('a since from the future, as after a restored backup, gets a resync', async () => {
  const projectId = await newProject()
  const last = await board.server.app.outbox.lastSeq()
  const live = await following(projectId, last + 1000)
  expect(live.messages.map(({ type, data }) => [type, data.seq])).toEqual([
    ['resync', last],
    ['subscribed', last],
  ])
  await create(projectId, 'new')
  expect((await live.message('card.created')).seq).toBe(last + 1)
})

test('after a project is deleted its subscribers get its deletion, and then an error for the missing project', async () => {
  const projectId = await newProject()
  const live = await following(projectId)
  await board.client.projects.delete({ id: projectId })
  expect((await live.message('project.deleted')).data).toEqual({ id: projectId })
  expect((await live.message('error')).data).toEqual({
    code: 'PROJECT_NOT_FOUND',
    message: 'Project not found.',
    projectId,
  })
})
