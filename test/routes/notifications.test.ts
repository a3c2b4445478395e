import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let guarded: TestBoard
beforeAll(async () => {
  ;[board, guarded] = await Promise.all([
    startBoard(),
    startBoard({
      allowPrivateWebhooks: false,
      lookup: (_, __, callback) => callback(null, [{ address: '::ffff:10.0.0.7', family: 6 }]),
    }),
  ])
})
afterAll(() => Promise.all([board.close(), guarded.close()]))

const path = '/api/settings/notifications'
const defaults = {
  agentCompleted: true,
  agentFailed: true,
  agentWaiting: true,
  monitorFailing: true,
  mentioned: true,
  commented: true,
  assigned: true,
  due: true,
  scheduleDisabled: true,
  budget: true,
  webhookUrl: null,
  desktop: true,
  sound: true,
}
const url = 'https://hooks.example.org/mine'
const register = async (name: string) =>
  board.as((await board.client.auth.register({ email: `${name}@example.org`, password: 'a long password' })).token)

test('by default, every event notifies and no webhook is set', async () => {
  expect(await board.client.notifications.get()).toEqual(defaults)
})

test('an update changes only the named settings, and the first user inherits the settings of the local operator', async () => {
  expect(await board.client.notifications.set({ sound: false, agentFailed: false })).toEqual({
    ...defaults,
    sound: false,
    agentFailed: false,
  })
  const { webhookSecret } = await board.client.notifications.set({ agentFailed: true, webhookUrl: url })
  expect(webhookSecret).toMatch(/^whsec_/)
  expect(await board.client.notifications.get()).toEqual({ ...defaults, sound: false, webhookUrl: url })
  const { token } = await board.client.auth.setup({ email: 'ada@example.org', password: 'a long password' })
  expect(await board.as(token).notifications.get()).toEqual({ ...defaults, sound: false, webhookUrl: url })
})

test('each account has its own settings', async () => {
  const [bob, eve] = [await register('bob'), await register('eve')]
  await bob.notifications.set({ desktop: false, webhookUrl: url })
  expect(await eve.notifications.get()).toEqual(defaults)
  expect(await bob.notifications.get()).toEqual({ ...defaults, desktop: false, webhookUrl: url })
})

test('a URL gets a secret when it is first set or changed, which is shown in that response only', async () => {
  const mine = await register('signed')
  const first = await mine.notifications.set({ webhookUrl: url })
  expect(first.webhookSecret).toMatch(/^whsec_[\w+/]{32,}=*$/)
  expect(await mine.notifications.set({ webhookUrl: url, sound: false })).not.toHaveProperty('webhookSecret')
  expect(await mine.notifications.set({ sound: true })).not.toHaveProperty('webhookSecret')
  expect(await mine.notifications.get()).not.toHaveProperty('webhookSecret')
  const changed = await mine.notifications.set({ webhookUrl: `${url}/other` })
  expect(changed.webhookSecret).toMatch(/^whsec_/)
  expect(changed.webhookSecret).not.toBe(first.webhookSecret)
  expect(await mine.notifications.set({ webhookUrl: null })).toEqual(defaults)
  expect((await mine.notifications.set({ webhookUrl: `${url}/other` })).webhookSecret).not.toBe(changed.webhookSecret)
  const rows = await board.server.app.db.all<{ secret: string }>('SELECT secret FROM webhooks')
  expect(JSON.stringify(rows)).not.toContain('whsec_')
})

test.each([
  ['a word', { webhookUrl: 'nowhere' }, 'webhookUrl'],
  ['another protocol', { webhookUrl: 'ftp://example.org/x' }, 'webhookUrl'],
  ['a URL with a password', { webhookUrl: 'https://me:secret@example.org/' }, 'webhookUrl'],
  ['a long URL', { webhookUrl: `https://example.org/${'x'.repeat(2000)}` }, 'webhookUrl'],
  ['text for a switch', { sound: 'yes' }, 'sound'],
  ['an unknown switch', { smell: true }, 'smell'],
])("%s is rejected by the field's name, and nothing is changed", async (_, body, field) => {
  const before = await board.client.notifications.get()
  const reply = await board.request('PUT', path, { body: { desktop: false, ...body } })
  expect([reply.status, reply.body.error.code, reply.body.error.details[0].path]).toEqual([
    400,
    'VALIDATION_FAILED',
    field,
  ])
  expect(await board.client.notifications.get()).toEqual(before)
})

test.each([
  'http://127.0.0.1:9/',
  'http://[::1]/',
  'http://192.168.1.1/',
  'http://[::ffff:127.0.0.1]/',
  'http://169.254.169.254/latest',
  'http://localhost/',
  'https://inside.example.org/',
])('%s leads inside and is rejected, with the rest of the change', async webhookUrl => {
  const reply = await guarded.request('PUT', path, { body: { webhookUrl, sound: false } })
  expect([reply.status, reply.body.error.code]).toEqual([400, 'WEBHOOK_TARGET_REFUSED'])
  expect(await guarded.client.notifications.get()).toEqual(defaults)
})

test('a deleted account leaves no settings', async () => {
  const admin = board.client
  const { id } = (await admin.auth.register({ email: 'gone@example.org', password: 'a long password' })).user
  await board
    .as((await admin.auth.login({ email: 'gone@example.org', password: 'a long password' })).token)
    .notifications.set({ webhookUrl: url, sound: false })
  await admin.users.delete({ id })
  const { db } = board.server.app
  expect(
    await db.all('SELECT 1 FROM webhooks WHERE user_id = ?1 UNION ALL SELECT 1 FROM user_settings WHERE user_id = ?1', [
      Number(id),
    ]),
  ).toEqual([])
})
