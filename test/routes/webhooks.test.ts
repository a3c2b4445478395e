import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { webhookEvents } from '../../src/contract/automation/webhooks.ts'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startReceiver, verified, type Receiver } from '../support/receivers/webhookReceiver.ts'

let board: TestBoard
let receiver: Receiver
let projectId: string
let now = Date.now()

beforeAll(async () => {
  receiver = await startReceiver()
  board = await startBoard({ clock: () => new Date(now) })
})
afterAll(async () => {
  await board.close()
  await receiver.close()
})
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'Hooked', path: board.folder('hooked') })).id
})

const path = (rest = '') => `/api/projects/${projectId}/webhooks${rest}`
const create = (body: object = {}) =>
  board.request('POST', path(), { body: { url: `${receiver.url}/hook`, events: ['card.moved'], ...body } })

test('a webhook is created, listed, changed and deleted', async () => {
  const { status, body } = await create({
    events: ['card.moved', 'card.created', 'card.moved'],
    description: 'To the chat',
  })
  const { secret, ...webhook } = body.data
  expect([status, webhook]).toEqual([
    201,
    {
      id: expect.any(String),
      projectId,
      url: `${receiver.url}/hook`,
      events: ['card.moved', 'card.created'],
      enabled: true,
      description: 'To the chat',
      disabledReason: null,
      createdBy: { userId: expect.any(String), displayName: 'Local operator', keyId: null, keyName: null },
      createdAt: expect.any(String),
      updatedAt: webhook.createdAt,
    },
  ])
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect((await board.request('GET', path())).body.data).toEqual([webhook])
  const changed = await board.request('PATCH', path(`/${webhook.id}`), {
    body: { url: `${receiver.url}/other`, events: ['board.created'], enabled: false, description: null },
  })
  expect(changed.body.data).toEqual({
    ...webhook,
    url: `${receiver.url}/other`,
    events: ['board.created'],
    enabled: false,
    description: null,
    updatedAt: expect.any(String),
  })
  expect((await board.request('PATCH', path(`/${webhook.id}`), { body: {} })).body.data).toEqual(changed.body.data)
  expect((await board.request('DELETE', path(`/${webhook.id}`))).status).toBe(204)
  expect((await board.request('GET', path())).body.data).toEqual([])
  for (const [method, rest] of [
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/rotate'],
    ['POST', '/test'],
    ['GET', '/deliveries'],
    ['POST', '/deliveries/1/redeliver'],
  ] as const) {
    const answer = await board.request(method, path(`/${webhook.id}${rest}`), {
      body: method === 'PATCH' ? {} : undefined,
    })
    expect([method, rest, answer.status, answer.body.error.code]).toEqual([method, rest, 404, 'WEBHOOK_NOT_FOUND'])
  }
})

test('an invalid value names the field and the rule', async () => {
  const { id } = (await create()).body.data
  const cases: Array<[object, string, string]> = [
    [{ events: [] }, 'events', 'must contain at least one event'],
    [{ events: ['card.exploded'] }, 'events.0', 'must be an event type'],
    [{ events: ['notification'] }, 'events.0', 'must be an event type'],
    [{ events: ['project.deleted'] }, 'events.0', 'must be an event type'],
    [{ events: 'card.moved' }, 'events', 'must be a list'],
    [{ url: 'ftp://example.org' }, 'url', 'must begin with https:// or http://'],
    [{ url: 7 }, 'url', 'must be text'],
    [{ enabled: 'yes' }, 'enabled', 'must be true or false'],
    [{ description: 'x'.repeat(501) }, 'description', 'must have at most 500 characters'],
    [{ secret: 'whsec_own' }, 'secret', 'is not a known field'],
  ]
  for (const [body, field, message] of cases) {
    for (const answer of [await create(body), await board.request('PATCH', path(`/${id}`), { body })])
      expect([answer.status, answer.body.error.details]).toEqual([400, [{ path: field, message }]])
  }
  expect(
    (await board.request('POST', path(), { body: {} })).body.error.details.map((each: { path: string }) => each.path),
  ).toEqual(['url', 'events'])
})

test('every event of a project can be selected', async () => {
  const { status, body } = await create({ events: webhookEvents })
  expect([status, body.data.events]).toEqual([201, webhookEvents])
  expect(webhookEvents).toContain('agent.status')
})

test('the secret is shown once, is sealed in the database, and is hidden from all others', async () => {
  const key = { 'idempotency-key': 'once' }
  const first = await board.request('POST', path(), {
    body: { url: `${receiver.url}/sealed`, events: ['card.created'] },
    headers: key,
  })
  const { id, secret } = first.body.data
  const rotated = await board.request('POST', path(`/${id}/rotate`), { headers: key })
  expect([rotated.status, rotated.body.data.id]).toEqual([201, id])
  expect(rotated.body.data.secret).not.toBe(secret)
  const others = [
    await board.request('GET', path()),
    await board.request('PATCH', path(`/${id}`), { body: { enabled: true } }),
    await board.request('POST', path(`/${id}/test`)),
    await board.request('GET', path(`/${id}/deliveries`)),
  ]
  expect(others.map(({ status }) => status)).toEqual([200, 200, 202, 200])
  for (const { text } of others) expect(text).not.toContain('whsec_')
  await eventually('the test', () => receiver.at('/sealed').length === 1)
  expect(verified(rotated.body.data.secret, receiver.at('/sealed')[0]!)).toBeTruthy()
  const files = board.stored()
  expect([
    files.includes(id),
    ...[secret, rotated.body.data.secret].map(each => files.includes(each) || files.includes(each.slice(6))),
  ]).toEqual([true, false, false])
})

test('deliveries are listed newest first, in pages, and by status', async () => {
  const { id } = (await create({ events: ['card.created'] })).body.data
  for (const title of ['A', 'B', 'C', 'D', 'E']) await board.client.cards.create({ projectId, title })
  const page = async (query: string) => (await board.request('GET', path(`/${id}/deliveries${query}`))).body.data
  await eventually('all five', async () => (await page('?status=succeeded')).items.length === 5)
  const titles = ({ items }: { items: Array<{ request: { body: string } }> }) =>
    items.map(({ request }) => JSON.parse(request.body).data.title)
  const first = await page('?limit=2')
  expect([titles(first), titles(await page(`?limit=2&cursor=${first.nextCursor}`))]).toEqual([
    ['E', 'D'],
    ['C', 'B'],
  ])
  expect(titles(await page(`?limit=2&status=succeeded&cursor=${first.nextCursor}`))).toEqual(['C', 'B'])
  expect(await page('?status=failed')).toEqual({ items: [], nextCursor: null })
  expect((await page('')).nextCursor).toBeNull()
  for (const query of ['?status=lost', '?limit=0', '?cursor=0', '?cursor=x', '?offset=1'])
    expect([query, (await board.request('GET', path(`/${id}/deliveries${query}`))).status]).toEqual([query, 400])
})

test('a delivery of another webhook is not found', async () => {
  const [one, two] = [(await create()).body.data.id, (await create()).body.data.id]
  const delivery = (await board.request('POST', path(`/${one}/test`))).body.data
  const answer = await board.request('POST', path(`/${two}/deliveries/${delivery.id}/redeliver`))
  expect([answer.status, answer.body.error.code]).toEqual([404, 'DELIVERY_NOT_FOUND'])
})

test('a disabled webhook sends nothing, not even on request', async () => {
  const { id } = (await create({ enabled: false })).body.data
  const answer = await board.request('POST', path(`/${id}/test`))
  expect([answer.status, answer.body.error.code, answer.body.error.message]).toEqual([
    409,
    'CONFLICT',
    'The webhook is disabled. Enable it first.',
  ])
  expect((await board.request('GET', path(`/${id}/deliveries`))).body.data.items).toEqual([])
})

test('a project has at most 50 webhooks', async () => {
  for (let made = 0; made < 50; made++) expect((await create({ enabled: false })).status).toBe(201)
  const { status, body } = await create()
  expect([status, body.error.code]).toEqual([409, 'CONFLICT'])
})

test('the pauses between attempts are those of the specification, within a tenth', async () => {
  const { id } = (await create({ url: 'http://127.0.0.1:1/', events: ['card.created'] })).body.data
  await board.client.cards.create({ projectId, title: 'Retried' })
  const delivery = async () => (await board.request('GET', path(`/${id}/deliveries`))).body.data.items[0]
  const pauses: number[] = []
  for (let attempts = 1; attempts <= 10; attempts++) {
    const { nextAttemptAt, lastAttemptAt, status } = await eventually(`attempt ${attempts}`, async () => {
      const found = await delivery()
      return found?.attempts === attempts ? found : undefined
    })
    expect(status).toBe(attempts < 10 ? 'pending' : 'failed')
    if (nextAttemptAt === null) break
    pauses.push((Date.parse(nextAttemptAt) - Date.parse(lastAttemptAt)) / 1000)
    now = Date.parse(nextAttemptAt)
    await board.server.app.webhooks.sendDue()
  }
  const wanted = [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600]
  expect(pauses.length).toBe(wanted.length)
  for (const [at, secs] of wanted.entries()) expect(Math.abs(pauses[at]! - secs) / secs).toBeLessThanOrEqual(0.101)
  expect(new Set(pauses.map((secs, at) => secs / wanted[at]!)).size).toBe(9)
})

test('deliveries are deleted 30 days after their end, and not while they are pending', async () => {
  const [done, pending] = [
    (await create({ events: ['card.created'] })).body.data.id,
    (await create({ url: 'http://127.0.0.1:1/', events: ['card.created'] })).body.data.id,
  ]
  await board.client.cards.create({ projectId, title: 'Kept a while' })
  const count = async (id: string) => (await board.request('GET', path(`/${id}/deliveries`))).body.data.items.length
  await eventually(
    'the success',
    async () => (await board.request('GET', path(`/${done}/deliveries?status=succeeded`))).body.data.items.length === 1,
  )
  const forget = periodicJobs(board.server.app).find(({ name }) => name.startsWith('delete webhook deliveries'))!
  now += 29.9 * 86_400_000
  await forget.run(new AbortController().signal)
  expect(await count(done)).toBe(1)
  now += 0.2 * 86_400_000
  await forget.run(new AbortController().signal)
  expect([await count(done), await count(pending)]).toEqual([0, 1])
})
