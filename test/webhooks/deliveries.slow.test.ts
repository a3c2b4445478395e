import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertDelivery } from '../../src/store/automation/deliveries.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { startReceiver, verified, type Receiver } from '../support/receivers/webhookReceiver.ts'

let board: TestBoard
let receiver: Receiver
/** The responses of the receiver by path: 204 unless a test sets another one. */
const answers: Record<string, Parameters<typeof startReceiver>[0]> = {}
let projects = 0
const timeoutSecs = Math.ceil(slowdown())

beforeAll(async () => {
  receiver = await startReceiver((received, response) =>
    (answers[received.path] ?? ((_, answer) => answer.writeHead(204).end()))(received, response),
  )
  board = await startBoard({ webhookTiming: { timeoutMs: timeoutSecs * 1000, retrySecs: [0.1, 0.1, 0.1] } })
})
afterAll(async () => {
  await board.close()
  await receiver.close()
})

/** A project with a webhook to its own path. */
async function hook(events: string[] = ['card.created'], answer?: Parameters<typeof startReceiver>[0]) {
  const path = `/${++projects}`
  if (answer) answers[path] = answer
  const { id: projectId } = await board.client.projects.create({
    name: `Project ${projects}`,
    path: board.folder('project'),
  })
  const { id: webhookId, secret } = await board.client.webhooks.create({
    projectId,
    url: receiver.url + path,
    events: events as never,
  })
  const add = (title: string) => board.client.cards.create({ projectId, title })
  const deliveries = async (status?: 'pending' | 'succeeded' | 'failed') =>
    (await board.client.webhooks.deliveries({ projectId, webhookId, status })).items
  const columns = await board.client.columns.list({ projectId })
  return {
    projectId,
    webhookId,
    secret,
    path,
    add,
    deliveries,
    columns,
    got: () => receiver.at(path),
    ref: { projectId, webhookId },
  }
}

const titles = (received: ReturnType<Receiver['at']>) => received.map(({ message }) => message.data.title)

test('a move is sent to a webhook, and the reference library verifies it', async () => {
  const { projectId, secret, add, got, columns, deliveries } = await hook(['card.moved'])
  const card = await add('First')
  await board.client.cards.move({ projectId, cardId: card.id, columnId: columns[2]!.id })
  await eventually('the message', () => got().length === 1)
  const [request] = got()
  expect(verified(secret, request!)).toEqual(request!.message)
  expect(() => verified(secret, { ...request!, body: `${request!.body} ` })).toThrow('No matching signature found')
  expect(() => verified(`whsec_${Buffer.alloc(32).toString('base64')}`, request!)).toThrow(
    'No matching signature found',
  )
  expect(request).toMatchObject({
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': expect.stringMatching(/^board\//) },
    id: expect.stringMatching(/^msg_[\w-]{22}$/),
  })
  expect(request!.message).toMatchObject({
    type: 'card.moved',
    projectId,
    seq: expect.any(Number),
    data: {
      id: card.id,
      title: 'First',
      from: { columnId: columns[0]!.id },
      to: { columnId: columns[2]!.id, position: 0 },
    },
  })
  expect(Object.keys(request!.message)).toEqual(['type', 'timestamp', 'projectId', 'seq', 'data'])
  const [delivery] = await eventually('its success', async () =>
    (await deliveries('succeeded')).length === 1 ? deliveries() : undefined,
  )
  expect(delivery).toMatchObject({
    messageId: request!.id,
    type: 'card.moved',
    status: 'succeeded',
    attempts: 1,
    nextAttemptAt: null,
    responseStatus: 204,
    responseBody: '',
    error: null,
    request: { url: receiver.url + request!.path, body: request!.body },
  })
})

test("a move by another program is also sent, and immediately ends the token of the card's agent", async () => {
  const { projectId, got, columns } = await hook(['card.moved'])
  const card = await board.client.cards.create({ projectId, title: 'Active', columnId: columns[1]!.id, deferred: true })
  const { token } = await board.client.agents.token({ projectId, cardId: card.id })
  const { key } = await board.client.keys.create({
    name: 'Mover',
    scope: 'project',
    projectId,
    permissions: ['cards.move'],
  })
  const listMonitors = () => board.request('GET', `/api/projects/${projectId}/cards/${card.id}/monitors`, { token })
  expect((await listMonitors()).status).toBe(200)
  const moved = await board.request('PATCH', `/api/external/projects/${projectId}/cards/${card.id}/move`, {
    token: key,
    body: { targetColumnId: Number(columns[2]!.id), position: 0 },
  })
  expect([moved.status, (await listMonitors()).status]).toEqual([200, 401])
  await eventually('the message', () => got().length === 1)
  expect(got()[0]!.message.data).toMatchObject({
    id: card.id,
    columnId: columns[2]!.id,
    from: { columnId: columns[1]!.id },
    to: { columnId: columns[2]!.id },
  })
})

test('a webhook gets the selected events of its project, from its creation on', async () => {
  const { projectId, add, got, ref } = await hook(['card.created', 'card.archived'])
  const other = await hook()
  await board.client.cards.create({ projectId: other.projectId, title: 'Before it' })
  const { id: lateId } = await board.client.webhooks.create({
    projectId: other.projectId,
    url: `${receiver.url}/late`,
    events: ['card.created'],
  })
  const early = await hook(['card.archived'])
  const card = await early.add('Before')
  await board.client.webhooks.update({ ...early.ref, events: ['card.archived', 'card.created'] })
  await board.client.cards.archive({ projectId: early.projectId, cardId: card.id })
  await eventually('the archived card', () => early.got().length === 1)
  const first = await add('First')
  await board.client.cards.update({ projectId, cardId: first.id, title: 'Renamed' })
  await board.client.cards.archive({ projectId, cardId: first.id })
  await eventually('both messages', () => got().length === 2)
  await board.client.webhooks.update({ ...ref, enabled: false })
  await add('Not told')
  await board.client.webhooks.update({ ...ref, enabled: true })
  await add('Told')
  await eventually('the third message', () => got().length === 3)
  expect(got().map(({ message }) => [message.type, message.data.title])).toEqual([
    ['card.created', 'First'],
    ['card.archived', 'Renamed'],
    ['card.created', 'Told'],
  ])
  expect([titles(other.got()), titles(receiver.at('/late')), early.got().map(({ message }) => message.type)]).toEqual([
    ['Before it'],
    [],
    ['card.archived'],
  ])
  expect((await board.client.webhooks.deliveries({ projectId: other.projectId, webhookId: lateId })).items).toEqual([])
})

test('first attempts are sent one at a time in the order of events, and a slow receiver delays no others', async () => {
  let [open, maxOpen] = [0, 0]
  const slow = await hook(['card.created'], (_, response) => {
    maxOpen = Math.max(maxOpen, ++open)
    setTimeout(() => {
      open--
      response.writeHead(200).end()
    }, 100 * slowdown())
  })
  const quick = await hook()
  const names = Array.from({ length: 20 }, (_, at) => `Card ${at}`)
  for (const name of names) await Promise.all([slow.add(name), quick.add(name)])
  await eventually('all that is quick', () => quick.got().length === 20)
  expect(slow.got().length).toBeLessThan(20)
  await eventually('all that is slow', () => slow.got().length === 20)
  expect([titles(quick.got()), titles(slow.got()), maxOpen]).toEqual([names, names, 1])
})

test('a failed delivery is sent again with the same id, after the first attempts of later ones', async () => {
  let [failures, areBothThere] = [2, false]
  const answer = (response: ServerResponse) =>
    response.writeHead(failures-- > 0 ? 500 : 200).end("the receiver's response")
  const { secret, add, got, deliveries } = await hook(['card.created'], (_, response) =>
    eventually('the second card', () => areBothThere).then(() => answer(response)),
  )
  await add('First')
  await eventually('the first attempt', () => got().length === 1)
  await add('Second')
  await eventually('the second delivery', async () => (await deliveries()).length === 2)
  areBothThere = true
  await eventually('four attempts', () => got().length === 4)
  const [first, second] = [got()[0]!.id, got()[1]!.id]
  expect(
    got()
      .slice(0, 2)
      .map(({ message }) => message.data.title),
  ).toEqual(['First', 'Second'])
  expect(
    got()
      .slice(2)
      .map(({ id }) => id)
      .sort(),
  ).toEqual([first, second].sort())
  for (const each of got()) verified(secret, each)
  const told = await eventually('both successes', async () =>
    (await deliveries('succeeded')).length === 2 ? deliveries() : undefined,
  )
  expect(told.map(({ attempts, responseBody, error }) => [attempts, responseBody, error])).toEqual([
    [2, "the receiver's response", null],
    [2, "the receiver's response", null],
  ])
})

test("a delivery fails permanently after its last attempt, with the receiver's response", async () => {
  const { add, got, deliveries } = await hook(['card.created'], (_, response) =>
    response.writeHead(503).end(`no\0${'x'.repeat(10_000)}`),
  )
  await add('Refused')
  const [failed] = await eventually('the failure', async () =>
    (await deliveries('failed')).length === 1 ? deliveries() : undefined,
  )
  expect(failed).toMatchObject({
    status: 'failed',
    attempts: 4,
    responseStatus: 503,
    error: 'The receiver answered with status 503.',
    nextAttemptAt: null,
    finishedAt: expect.any(String),
  })
  expect(failed!.responseBody).toBe(`no\u2400${'x'.repeat(4093)}`)
  expect(new Set(got().map(({ id }) => id)).size).toBe(1)
})

test('the response 410 disables a webhook, and its pending deliveries fail', async () => {
  const { ref, add, got, deliveries } = await hook(['card.created'], (_, response) =>
    setTimeout(() => response.writeHead(410).end(), 100),
  )
  await Promise.all(['A', 'B', 'C'].map(add))
  const failed = await eventually('all failures', async () =>
    (await deliveries('failed')).length === 3 ? deliveries() : undefined,
  )
  expect(got().length).toBe(1)
  expect(failed.map(({ attempts, error }) => [attempts, error]).reverse()).toEqual([
    [1, 'The receiver answered with status 410.'],
    [0, 'The webhook was disabled: The receiver answered 410 Gone.'],
    [0, 'The webhook was disabled: The receiver answered 410 Gone.'],
  ])
  expect((await board.client.webhooks.list(ref))[0]).toMatchObject({
    enabled: false,
    disabledReason: 'The receiver answered 410 Gone.',
  })
  expect(await board.client.webhooks.update({ ...ref, enabled: true })).toMatchObject({
    enabled: true,
    disabledReason: null,
  })
})

test('redirects are not followed, and missing responses and offline receivers fail', async () => {
  const elsewhere = await hook()
  const redirecting = await hook(['card.created'], (_, response) =>
    response.writeHead(307, { location: receiver.url + elsewhere.path }).end(),
  )
  const silent = await hook(['card.created'], () => {
    /* The receiver never responds. */
  })
  const gone = await hook()
  await board.client.webhooks.update({ ...gone.ref, url: 'http://127.0.0.1:1/' })
  await Promise.all([redirecting, silent, gone].map(each => each.add('Lost')))
  const errors = async () =>
    Promise.all([redirecting, silent, gone].map(async each => (await each.deliveries())[0]?.error))
  await eventually('all errors', async () => (await errors()).every(Boolean))
  expect(await errors()).toEqual([
    'The receiver answered with status 307.',
    `The receiver could not be reached: it did not answer within ${timeoutSecs} seconds.`,
    'The receiver could not be reached: ECONNREFUSED.',
  ])
  expect(elsewhere.got()).toEqual([])
})

/** Writes to a response until the connection closes. */
const writeForever = (response: ServerResponse, chunk: string, everyMs: number) => {
  const timer = setInterval(() => {
    // The kernel's buffers would accept megabytes that the client never reads.
    while (response.write(chunk) && everyMs === 0);
  }, everyMs)
  response.on('close', () => clearInterval(timer))
}
const lateMs = () => timeoutSecs * 1000

describe('a response that is not complete is retried, and its connection closes', () => {
  const cases: ReadonlyArray<
    [name: string, answer: (response: ServerResponse) => void, status: number | null, error: string]
  > = [
    [
      'a body that stalls',
      response => response.writeHead(200).write('so far'),
      200,
      `The receiver answered with status 200, but its response did not end within ${timeoutSecs} seconds.`,
    ],
    [
      'a body that trickles',
      response => writeForever(response.writeHead(200), '.', 50),
      200,
      `The receiver answered with status 200, but its response did not end within ${timeoutSecs} seconds.`,
    ],
    [
      'an endless body',
      response => writeForever(response.writeHead(200), 'x'.repeat(65_536), 0),
      200,
      'The receiver answered with status 200, but its response is larger than 1024 KiB.',
    ],
    [
      'an interrupted body',
      response => {
        response.writeHead(200, { 'content-length': 100 }).write('so far')
        setTimeout(() => response.destroy(), 50)
      },
      200,
      'The receiver answered with status 200, but its response was interrupted.',
    ],
    [
      'an error whose body does not end',
      response => response.writeHead(500).write('so far'),
      500,
      'The receiver answered with status 500.',
    ],
    [
      'headers that trickle',
      response => {
        const { socket } = response
        socket!.write('HTTP/1.1 200 OK\r\n')
        const timer = setInterval(() => socket!.write('x: y\r\n'), 50)
        response.on('close', () => clearInterval(timer))
      },
      null,
      `The receiver could not be reached: it did not answer within ${timeoutSecs} seconds.`,
    ],
    [
      'endless headers',
      response => {
        const { socket } = response
        socket!.write('HTTP/1.1 200 OK\r\n')
        const timer = setInterval(() => socket!.write('x: y\r\n'.repeat(1000)), 0)
        response.on('close', () => clearInterval(timer))
      },
      null,
      'The receiver could not be reached: UND_ERR_HEADERS_OVERFLOW.',
    ],
    [
      'endless interim responses',
      response => {
        const timer = setInterval(() => response.writeEarlyHints({ link: '</a>; rel=preload' }), 50)
        response.on('close', () => clearInterval(timer))
      },
      null,
      `The receiver could not be reached: it did not answer within ${timeoutSecs} seconds.`,
    ],
  ]
  test.concurrent.each(cases)('%s', async (_name, answer, responseStatus, error) => {
    let closed = 0
    const { add, deliveries } = await hook(['card.created'], (_, response) => {
      response.on('close', () => closed++)
      answer(response)
    })
    await add('Unfinished')
    const [failed] = await eventually(
      'its failure',
      async () => ((await deliveries('failed')).length === 1 ? deliveries() : undefined),
      10 * lateMs(),
    )
    expect(failed).toMatchObject({ attempts: 4, responseStatus, error, nextAttemptAt: null })
    await eventually('closed connections', () => closed === 4)
  })
})

test('a response that ends just in time, and a large one that ends, are complete', async () => {
  const slow = await hook(['card.created'], (_, response) => {
    response.writeHead(200).write('so far')
    setTimeout(() => response.end(', and the rest'), lateMs() / 2)
  })
  const large = await hook(['card.created'], (_, response) => response.writeHead(200).end('x'.repeat(900 * 1024)))
  for (const [{ add, deliveries }, responseBody] of [
    [slow, 'so far, and the rest'],
    [large, 'x'.repeat(4096)],
  ] as const) {
    await add('Taken')
    const [taken] = await eventually('its success', async () =>
      (await deliveries('succeeded')).length === 1 ? deliveries() : undefined,
    )
    expect(taken).toMatchObject({ attempts: 1, responseStatus: 200, responseBody, error: null })
  }
})

test('deleting or disabling a webhook, or deleting its project, cancels pending deliveries', async () => {
  let ended = 0
  const silent: Parameters<typeof startReceiver>[0] = (_, response) =>
    response.on('close', () => {
      ended++
    })
  const [disabled, deleted, dissolved] = [
    await hook(['card.created'], silent),
    await hook(['card.created'], silent),
    await hook(['card.created'], silent),
  ]
  for (const each of [disabled, deleted, dissolved]) {
    await Promise.all(['A', 'B', 'C'].map(each.add))
    await eventually('an attempt on its way', () => each.got().length === 1)
  }
  await board.client.webhooks.update({ ...disabled.ref, enabled: false })
  await board.client.webhooks.delete(deleted.ref)
  await board.client.projects.delete({ id: dissolved.projectId })
  expect((await disabled.deliveries()).map(({ status, error }) => [status, error])).toEqual(
    Array.from({ length: 3 }, () => ['failed', 'The webhook was disabled.']),
  )
  expect(
    (await board.request('GET', `/api/projects/${deleted.projectId}/webhooks/${deleted.webhookId}/deliveries`)).body
      .error.code,
  ).toBe('WEBHOOK_NOT_FOUND')
  const rows = await board.server.app.db.all('SELECT id FROM webhook_deliveries WHERE webhook_id IN (?, ?)', [
    Number(deleted.webhookId),
    Number(dissolved.webhookId),
  ])
  expect(rows).toEqual([])
  await eventually('the end of the attempts', () => ended === 3)
  const later = await hook()
  await later.add('Later')
  await eventually('what comes later', () => later.got().length === 1)
  expect([disabled, deleted, dissolved].map(each => each.got().length)).toEqual([1, 1, 1])
})

test('thousands of pending deliveries are given up and deleted in pieces', async () => {
  const { ref, webhookId } = await hook(['card.created'], () => {
    /* The receiver never responds. */
  })
  const { db } = board.server.app
  const count = async (status: string) =>
    (await db.get<{ total: number }>(
      'SELECT count(*) AS total FROM webhook_deliveries WHERE webhook_id = ? AND status = ?',
      [Number(webhookId), status],
    ))!.total
  await db.transaction(async tx => {
    for (let at = 0; at < 1700; at++)
      await insertDelivery(tx, {
        webhookId: Number(webhookId),
        messageId: `msg_${at}`,
        type: 'card.created',
        body: '{}',
      })
  })
  await board.client.webhooks.update({ ...ref, enabled: false })
  expect(await count('failed')).toBeGreaterThanOrEqual(500)
  await eventually('the end of all', async () => (await count('failed')) === 1700)
  await board.client.webhooks.delete(ref)
  expect(await count('failed')).toBe(0)
})

test('a test is sent before all pending deliveries, and an ended delivery is sent again with the same id', async () => {
  let isTestAsked = false
  const { ref, secret, add, got, deliveries } = await hook(['card.created'], (_, response) =>
    eventually('the question', () => isTestAsked).then(() => setTimeout(() => response.writeHead(200).end('ok'), 50)),
  )
  await Promise.all(Array.from({ length: 10 }, (_, at) => add(`Card ${at}`)))
  await eventually('the first attempt', () => got().length > 0)
  // Other deliveries wait for a retry.
  await board.server.app.db.transaction(tx =>
    tx.run(
      "UPDATE webhook_deliveries SET attempts = 1, next_attempt_at = '2026-01-01T00:00:00.000Z' WHERE webhook_id = ? AND attempts = 0 AND id % 2 = 0",
      [Number(ref.webhookId)],
    ),
  )
  const asked = await board.client.webhooks.test(ref)
  isTestAsked = true
  expect(asked).toMatchObject({ type: 'webhook.test', status: 'pending', attempts: 0 })
  await eventually('the test', () => got().some(({ id }) => id === asked.messageId))
  expect(got().findIndex(({ id }) => id === asked.messageId)).toBeLessThan(4)
  expect(got().find(({ id }) => id === asked.messageId)!.message).toEqual({
    type: 'webhook.test',
    timestamp: asked.createdAt,
    projectId: ref.projectId,
    data: { webhookId: ref.webhookId },
  })
  await eventually('all of them', async () => (await deliveries('succeeded')).length === 11)
  const ended = (await deliveries()).at(-1)!
  const again = await board.client.webhooks.redeliver({ ...ref, deliveryId: ended.id })
  expect(again).toMatchObject({ messageId: ended.messageId, status: 'pending', attempts: 0, request: ended.request })
  expect(again.id).not.toBe(ended.id)
  await eventually('it a second time', () => got().filter(({ id }) => id === ended.messageId).length === 2)
  const [one, two] = got().filter(({ id }) => id === ended.messageId)
  expect([one!.body, verified(secret, two!)]).toEqual([two!.body, two!.message])
  await eventually('its success', async () => (await deliveries('succeeded')).length === 12)
})

test('a new secret signs all later deliveries', async () => {
  const { ref, secret, add, got } = await hook()
  const rotated = await board.client.webhooks.rotate(ref)
  expect(rotated.secret).not.toBe(secret)
  await add('Signed anew')
  await eventually('the message', () => got().length === 1)
  expect(verified(rotated.secret, got()[0]!)).toBeTruthy()
  expect(() => verified(secret, got()[0]!)).toThrow()
})

test("an account's messages are sent to its URL, signed, until the URL is removed or the receiver returns 410", async () => {
  const { webhooks, db } = board.server.app
  const path = '/user'
  const queue = (text: string) => db.transaction(tx => webhooks.queueUserDelivery(tx, 0, 'notification', { text }))
  await queue('To nobody')
  const secret = (await db.transaction(tx => webhooks.setUserUrl(tx, 0, receiver.url + path)))!
  expect(await db.transaction(tx => webhooks.setUserUrl(tx, 0, receiver.url + path))).toBeUndefined()
  await queue('One')
  await queue('Two')
  await eventually('both', () => receiver.at(path).length === 2)
  expect(receiver.at(path).map(each => (verified(secret, each), each.message))).toEqual(
    ['One', 'Two'].map(text => ({ type: 'notification', timestamp: expect.any(String), data: { text } })),
  )
  answers[path] = (_, response) => response.writeHead(410).end()
  await queue('Three')
  await eventually('the end', async () => (await webhooks.userUrl(db, 0)) === null)
  await queue('Four')
  expect(await db.transaction(tx => webhooks.setUserUrl(tx, 0, receiver.url + path))).toMatch(/^whsec_/)
  await db.transaction(tx => webhooks.setUserUrl(tx, 0, null))
  expect(receiver.at(path).length).toBe(3)
})
