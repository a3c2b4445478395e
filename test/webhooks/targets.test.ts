import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Lookup } from '../../src/config/server.ts'
import { isPublicAddress } from '../../src/egress/egressPolicy.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startReceiver, type Receiver } from '../support/receivers/webhookReceiver.ts'

let board: TestBoard
let receiver: Receiver
let projectId: string
/** The DNS responses of a name, in order; the last one is repeated. */
const names = new Map<string, string[][]>()
const lookup: Lookup = (hostname, _, callback) => {
  const answers = names.get(hostname)
  const addresses = (answers && answers.length > 1 ? answers.shift() : answers?.[0]) ?? []
  if (addresses.length === 0)
    return setImmediate(callback, Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), [])
  setImmediate(
    callback,
    null,
    addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
  )
}

beforeAll(async () => {
  receiver = await startReceiver()
  board = await startBoard({ allowPrivateWebhooks: false, lookup, webhookTiming: { timeoutMs: 500, retrySecs: [] } })
  projectId = (await board.client.projects.create({ name: 'Guarded', path: board.folder('project') })).id
})
afterAll(async () => {
  await board.close()
  await receiver.close()
})

const create = (url: string) =>
  board.request('POST', `/api/projects/${projectId}/webhooks`, { body: { url, events: ['card.created'] } })
const port = () => new URL(receiver.url).port

test.each([
  'http://127.0.0.1/',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0177.0.0.1/',
  'http://0.0.0.0/',
  'http://0/',
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://192.0.0.1/',
  'http://198.18.0.1/',
  'http://203.0.113.5/',
  'http://240.0.0.1/',
  'http://168.63.129.16/machine?comp=goalstate',
  'http://0xa83f8110/',
  'http://100.100.100.200/latest/meta-data/',
  'http://192.0.0.192/latest/',
  'http://161.26.0.10/',
  'http://[::ffff:168.63.129.16]/',
  'http://[fd00:ec2::254]/latest/',
  'http://[fd20:ce::254]/',
  'http://metadata.google.internal/computeMetadata/v1/',
  'http://Metadata.Google.Internal./',
  'http://instance-data/latest/',
  'http://[::1]/',
  'http://[::]/',
  'http://[fe80::1]/',
  'http://[fc00::1]/',
  'http://[fd12:3456::1]/',
  'http://[ff02::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:a00:1]/',
  'http://[::127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b:1::1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001::1]/',
  'http://[fec0::1]/',
  'http://[2001:db8::1]/',
  'https://１２７.0.0.1/',
])('%s is rejected as a target', async url => {
  const { status, body } = await create(url)
  expect([status, body.error.code]).toEqual([400, 'WEBHOOK_TARGET_REFUSED'])
})

test.each([
  ['the loopback address', ['127.0.0.1']],
  ['a private address', ['10.1.2.3']],
  ["the address of a cloud's own platform", ['168.63.129.16']],
  ['a mapped address', ['::ffff:192.168.0.1']],
  ['a link-local address', ['fe80::1%eth0']],
  ['a public and a private address', ['93.184.216.34', '192.168.0.1']],
])('a name that resolves to %s is rejected', async (_, addresses) => {
  names.set('inside.example.org', [addresses])
  expect((await create('https://inside.example.org/hook')).body.error.code).toBe('WEBHOOK_TARGET_REFUSED')
})

test('a change of the URL is validated also, and a rejected change leaves the webhook unchanged', async () => {
  names.set('outside.example.org', [['93.184.216.34']])
  const webhook = (await create('https://outside.example.org/hook')).body.data
  const refused = await board.request('PATCH', `/api/projects/${projectId}/webhooks/${webhook.id}`, {
    body: { url: receiver.url, enabled: false },
  })
  expect([refused.status, refused.body.error.code]).toEqual([400, 'WEBHOOK_TARGET_REFUSED'])
  expect((await board.client.webhooks.list({ projectId })).find(({ id }) => id === webhook.id)).toMatchObject({
    url: 'https://outside.example.org/hook',
    enabled: true,
  })
  await board.client.webhooks.delete({ projectId, webhookId: webhook.id })
})

describe('a target that was public when it was saved', () => {
  const failureOf = async (url: string, before: string[][]) => {
    names.set('rebound.example.org', before)
    const { id: webhookId } = (await create(url)).body.data
    await board.client.webhooks.test({ projectId, webhookId })
    const [failed] = await eventually('its failure', async () => {
      const { items } = await board.client.webhooks.deliveries({ projectId, webhookId, status: 'failed' })
      return items.length === 1 ? items : undefined
    })
    await board.client.webhooks.delete({ projectId, webhookId })
    return failed!.error
  }
  const refused = 'The target is a loopback, private or link-local address.'

  test('is not called if its name resolves to this machine by then', async () => {
    expect(await failureOf(`http://rebound.example.org:${port()}/`, [['93.184.216.34'], ['127.0.0.1']])).toBe(refused)
    expect(await failureOf(`http://rebound.example.org:${port()}/`, [[], ['127.0.0.1']])).toBe(refused)
    expect(await failureOf(`https://rebound.example.org:${port()}/`, [['93.184.216.34'], ['::ffff:127.0.0.1']])).toBe(
      refused,
    )
    expect(
      await failureOf(`http://rebound.example.org:${port()}/`, [['2606:2800:220:1::1'], ['93.184.216.34', '::1']]),
    ).toBe(refused)
    expect(receiver.received).toEqual([])
  })

  test('is not called if its row has an address on this machine', async () => {
    names.set('outside.example.org', [['93.184.216.34']])
    const { id: webhookId } = (await create('https://outside.example.org/hook')).body.data
    for (const url of [receiver.url, `http://[::ffff:127.0.0.1]:${port()}/`, `http://localhost:${port()}/`]) {
      names.set('localhost', [['127.0.0.1']])
      await board.server.app.db.transaction(tx =>
        tx.run('UPDATE webhooks SET url = ? WHERE id = ?', [url, Number(webhookId)]),
      )
      const { id } = await board.client.webhooks.test({ projectId, webhookId })
      await eventually(
        `the failure of ${url}`,
        async () =>
          (await board.client.webhooks.deliveries({ projectId, webhookId, status: 'failed' })).items[0]?.id === id,
      )
    }
    const { items } = await board.client.webhooks.deliveries({ projectId, webhookId })
    expect(items.map(({ error }) => error)).toEqual([refused, refused, refused])
    expect(receiver.received).toEqual([])
  })
})

test('a URL with a name or password, of another scheme or an invalid format is rejected', async () => {
  for (const url of [
    'https://ada:secret@example.org/',
    'ftp://example.org/',
    'file:///etc/passwd',
    'example.org',
    '',
    'https://',
    'javascript:alert(1)',
    `https://example.org/${'x'.repeat(2000)}`,
  ]) {
    const { status, body } = await create(url)
    expect([url, status, body.error.code, body.error.details[0].path]).toEqual([url, 400, 'VALIDATION_FAILED', 'url'])
  }
})

test('only addresses of the public Internet are public', () => {
  expect(
    ['93.184.216.34', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450:4001::1'].filter(
      isPublicAddress,
    ).length,
  ).toBe(6)
  expect(
    [
      '',
      'localhost',
      '127.0.0.1',
      '::1',
      'fe80::1%lo',
      '::7f00:1',
      '4000::1',
      '::ffff:1.1.1.1',
      '64:ff9b::101:101',
    ].filter(isPublicAddress),
  ).toEqual([])
})
