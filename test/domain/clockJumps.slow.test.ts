import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { startReceiver, type Received, type Receiver } from '../support/receivers/webhookReceiver.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const retrySecs = 3600
/** The offset of the clock in ms; otherwise it is the machine's clock. */
let aheadMs = 0
const jump = (ms: number) => {
  aheadMs += ms
}

let board: TestBoard
let receiver: Receiver
let fails = true
let projectId: string
beforeAll(async () => {
  receiver = await startReceiver((_: Received, response: ServerResponse) => response.writeHead(fails ? 500 : 204).end())
  board = await startBoard({
    clock: () => new Date(Date.now() + aheadMs),
    webhookTiming: { timeoutMs: 2000, retrySecs: [retrySecs, retrySecs, retrySecs, retrySecs] },
  })
})
afterAll(async () => {
  await board.close()
  await receiver.close()
})
beforeEach(async () => {
  aheadMs = 0
  fails = true
  receiver.received.length = 0
  projectId = (await board.client.projects.create({ name: 'Times', path: board.folder('times') })).id
})

const never = new AbortController().signal
/** The timetable of a board that creates backups. The board's own timetable creates none, so that no others appear. */
const timetable = () =>
  periodicJobs({ ...board.server.app, config: { ...board.server.app.config, backupEvery: '6h', backupKeep: 100 } })
const runJobs = async () => {
  for (const job of timetable()) await job.run(never)
}
/** The work that the timetable checks every second. */
const sendDue = () => board.server.app.webhooks.sendDue()

test.each([
  ['ahead and back again', [dayMs, -dayMs]],
  ['back and ahead again', [-dayMs, dayMs]],
])('a clock that jumps a day %s ends no sign-in, key or socket', async (_, jumps) => {
  const email = `ada${Math.abs(jumps[0]!)}${Math.sign(jumps[0]!)}@example.org`
  const account = { email, password: 'correct horse 1', displayName: 'Ada' }
  const hasUsers = (await board.as().auth.status()).hasUsers
  const { token } = hasUsers ? await board.as().auth.register(account) : await board.as().auth.setup(account)
  const owned = (await board.as(token).projects.create({ name: 'Own', path: board.folder('own') })).id
  const { key } = await board
    .as(token)
    .keys.create({ name: 'cron', scope: 'project', projectId: owned, permissions: ['cards.read'] })
  const live = await follow(board.url, token, owned)
  for (const ms of jumps) {
    jump(ms)
    expect((await board.as(token).auth.me()).email).toBe(email)
    expect((await board.request('GET', `/api/external/projects/${owned}/stats`, { token: key })).status).toBe(200)
    const { id } = await board.as(token).cards.create({ projectId: owned, title: 'told', deferred: true })
    await live.message('card.created', ({ data }) => data.id === id)
    expect(live.closed).toBeUndefined()
  }
  live.close()
})

test('a due job runs once when the clock jumps ahead, and not again when it returns', async () => {
  const { id: webhookId } = await board.client.webhooks.create({
    projectId,
    url: receiver.url,
    events: ['card.created'],
  })
  await board.client.cards.create({ projectId, title: 'told', deferred: true })
  await eventually('the first attempt', () => receiver.received.length === 1)
  await eventually(
    'that it was noted',
    async () => (await board.client.webhooks.deliveries({ projectId, webhookId })).items[0]?.attempts === 1,
  )
  await sendDue()
  expect(receiver.received).toHaveLength(1)
  fails = false
  jump(dayMs)
  await sendDue()
  await eventually(
    'the second attempt',
    async () => (await board.client.webhooks.deliveries({ projectId, webhookId })).items[0]?.status === 'succeeded',
  )
  jump(-dayMs)
  await sendDue()
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1)
  expect(receiver.received).toHaveLength(2)
})

test('a message that failed while the clock was a day ahead does not wait for that day', async () => {
  jump(dayMs)
  const { id: webhookId } = await board.client.webhooks.create({
    projectId,
    url: receiver.url,
    events: ['card.created'],
  })
  await board.client.cards.create({ projectId, title: 'told', deferred: true })
  const delivery = async () => (await board.client.webhooks.deliveries({ projectId, webhookId })).items[0]!
  await eventually('the first attempt', async () => (await delivery())?.attempts === 1)
  jump(-dayMs)
  fails = false
  await sendDue()
  jump(2 * retrySecs * 1000)
  await sendDue()
  await eventually('an attempt that succeeds', async () => (await delivery()).status === 'succeeded')
  expect(receiver.received).toHaveLength(2)
})

const made = async () => (await board.client.backups.list()).filter(({ origin }) => origin === 'timetable').length
test.each([
  ['ahead', dayMs],
  ['back', -dayMs],
])('backups are created on time when the clock jumps a day %s and returns, and not too many', async (_, ms) => {
  const job = timetable().find(({ name }) => name.startsWith('create a backup'))!
  const look = async () => {
    for (let times = 0; times < 3; times++) await job.run(never)
  }
  await look()
  const before = await made()
  jump(ms)
  await look()
  expect((await made()) - before).toBeLessThanOrEqual(1)
  jump(-ms)
  await look()
  const after = await made()
  expect(after - before).toBeLessThanOrEqual(2)
  jump(6.1 * hourMs)
  await look()
  expect(await made()).toBe(after + 1)
})

test('a timetable whose clock jumps a day ahead and back keeps the retention of cards, deleted cards and events, and the limits of their numbers', async () => {
  const { id: kept } = await board.client.cards.create({ projectId, title: 'kept', deferred: true })
  const { id: deleted } = await board.client.cards.create({ projectId, title: 'deleted', deferred: true })
  await board.client.cards.delete({ projectId, cardId: deleted })
  for (const ms of [dayMs, -dayMs, -dayMs, dayMs]) {
    jump(ms)
    await runJobs()
  }
  expect((await board.client.cards.list({ projectId })).map(({ id }) => id)).toEqual([kept])
  expect((await board.client.cards.restore({ projectId, cardId: deleted })).title).toBe('deleted')
  const live = await follow(board.url, board.token, projectId, 0)
  expect(
    live.messages.filter(({ type }) => type.startsWith('card.')).map(({ type, data }) => `${type} ${data.id}`),
  ).toEqual([`card.created ${kept}`, `card.created ${deleted}`, `card.deleted ${deleted}`, `card.restored ${deleted}`])
  live.close()
  const today = new Date().toISOString().slice(0, 10)
  expect(
    (await board.client.projects.history({ id: projectId }))
      .filter(({ day }) => day >= today)
      .map(({ day, backlog }) => [day, backlog]),
  ).toEqual([[today, 2]])
})

test('the last use of a key that was ahead of the clock is corrected', async () => {
  const { key, id } = await board.client.keys.create({
    name: 'cron',
    scope: 'project',
    projectId,
    permissions: ['cards.read'],
  })
  const use = () => board.request('GET', `/api/external/projects/${projectId}/stats`, { token: key })
  const lastUse = async () => Date.parse((await board.client.keys.get({ id })).lastUsedAt ?? '')
  jump(dayMs)
  await use()
  await eventually('the use', async () => (await lastUse()) > Date.now() + dayMs / 2)
  jump(-dayMs)
  await eventually('the use at the right time', async () => {
    await use()
    return (await lastUse()) < Date.now() + dayMs / 2
  })
})
