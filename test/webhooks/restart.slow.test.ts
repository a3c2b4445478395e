import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ServerConfig } from '../../src/config/server.ts'
import { onLibsqlServer, startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { startReceiver, verified, type Receiver } from '../support/receivers/webhookReceiver.ts'

const password = 'a long password'
let dataDir: string
let board: TestBoard
let receiver: Receiver
let isSilent: boolean
/** The headers of the response arrive, and its body does not end. */
let isUnfinished: boolean

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'board-restart-'))
  isSilent = false
  isUnfinished = false
  receiver = await startReceiver((_, response) => {
    if (isUnfinished) response.writeHead(200).write('so far')
    else if (!isSilent) response.writeHead(200).end()
  })
})
afterEach(async () => {
  await board.close()
  await receiver.close()
  rmSync(dataDir, { recursive: true, force: true })
})
const start = async (config: Partial<ServerConfig> = {}) => {
  board = await startBoard({ dataDir, ...config })
}

async function hook(): Promise<{ projectId: string; webhookId: string; secret: string }> {
  const { id: projectId } = await board.client.projects.create({ name: 'Kept', path: dataDir })
  const { id: webhookId, secret } = await board.client.webhooks.create({
    projectId,
    url: receiver.url,
    events: ['card.created'],
  })
  return { projectId, webhookId, secret }
}

test('a delivery in flight when the server stopped is sent again, with the same id, and the pending ones after it', async () => {
  await start()
  const { projectId, webhookId, secret } = await hook()
  isSilent = true
  for (const title of ['A', 'B', 'C']) await board.client.cards.create({ projectId, title })
  await eventually('an attempt on its way', () => receiver.received.length === 1)
  const began = performance.now()
  await board.close()
  expect(performance.now() - began).toBeLessThan(10_000 * slowdown())
  isSilent = false
  await start()
  await eventually('all three', () => receiver.received.length === 4)
  expect(receiver.received.map(each => (verified(secret, each), each.message.data.title))).toEqual(['A', 'A', 'B', 'C'])
  expect(receiver.received[0]!.id).toBe(receiver.received[1]!.id)
  await eventually(
    'their success',
    async () =>
      (await board.client.webhooks.deliveries({ projectId, webhookId, status: 'succeeded' })).items.length === 3,
  )
  expect(
    (await board.client.webhooks.deliveries({ projectId, webhookId })).items.map(({ attempts }) => attempts),
  ).toEqual([1, 1, 1])
})

test('a delivery whose response was unfinished when the server stopped is sent again', async () => {
  await start()
  const { projectId, webhookId } = await hook()
  isUnfinished = true
  await board.client.cards.create({ projectId, title: 'A' })
  await eventually('an attempt on its way', () => receiver.received.length === 1)
  await board.close()
  isUnfinished = false
  await start()
  await eventually('a second attempt', () => receiver.received.length === 2)
  const { items } = await eventually('its success', async () => {
    const page = await board.client.webhooks.deliveries({ projectId, webhookId, status: 'succeeded' })
    return page.items.length === 1 ? page : undefined
  })
  expect(items[0]).toMatchObject({ attempts: 1, responseBody: '' })
})

test("with another key than the one that sealed its secret, a webhook's messages fail with the reason", async ({
  skip,
}) => {
  skip(onLibsqlServer, 'With another key than the others have, no daemon starts.')
  await start({ secretKey: 'a'.repeat(64) })
  const { projectId, webhookId } = await hook()
  await board.close()
  await start({ secretKey: 'b'.repeat(64) })
  await board.client.cards.create({ projectId, title: 'Unsigned' })
  const [failed] = await eventually('the failure', async () => {
    const { items } = await board.client.webhooks.deliveries({ projectId, webhookId })
    return items[0]?.error ? items : undefined
  })
  expect([failed!.status, failed!.error]).toEqual(['pending', expect.stringContaining('encrypted with another key')])
  await board.client.webhooks.rotate({ projectId, webhookId })
  await board.client.webhooks.redeliver({ projectId, webhookId, deliveryId: failed!.id })
  await eventually('the message', () => receiver.received.length === 1)
})

test("the notification URL passes from the local operator to the first user, and is deleted with a user's account", async () => {
  await start()
  const { webhooks, db } = board.server.app
  const urlOf = (id: string) => webhooks.userUrl(db, Number(id))
  await db.transaction(tx => webhooks.setUserUrl(tx, 0, `${receiver.url}/operator`))
  const first = await board.as().auth.setup({ email: 'ada@example.org', password })
  expect([await urlOf('0'), await urlOf(first.user.id)]).toEqual([null, `${receiver.url}/operator`])
  const { user } = await board.as(first.token).users.create({ email: 'bob@example.org', name: 'Bob', role: 'user' })
  await db.transaction(tx => webhooks.setUserUrl(tx, Number(user.id), `${receiver.url}/bob`))
  await board.as(first.token).users.delete({ id: user.id })
  expect(await db.all('SELECT url FROM webhooks')).toEqual([{ url: `${receiver.url}/operator` }])
})
