import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRequestBoard, type RequestBoard } from '../support/agents/requestBoard.ts'

let board: RequestBoard
beforeAll(async () => {
  const polling = { forgePolling: { minMs: 600_000, maxMs: 600_000 } }
  board = await startRequestBoard({ requested: { fixture: 'requested' } }, polling)
})
afterAll(() => board.close())

test('a signed delivery polls the forge immediately, once each', async () => {
  const { forge, projectId } = board
  const card = await board.opened()
  await board.untilPull(card, 'the first look', ({ readAt }) => readAt !== null)
  const { url, secret } = await board.client.forges.giveWebhookSecret({ projectId })
  forge.webhookTo(url, secret, { hold: true })
  forge.setCheck((await board.pull(card)).headCommit!, 'build', 'success')
  const deliveries = forge.held.splice(0)
  const asked = forge.requests.length
  expect(new Set(await forge.deliver(deliveries, { secret: 'another' }))).toEqual(new Set([401]))
  expect(new Set(await forge.deliver(deliveries, { secret: '' }))).toEqual(new Set([401]))
  expect(new Set(await forge.deliver(deliveries, { body: '{}' }))).toEqual(new Set([401]))
  forge.webhookTo(url.replace(/\d+$/, '999999'), secret, { hold: true })
  expect(new Set(await forge.deliver(deliveries))).toEqual(new Set([401]))
  expect([(await board.pull(card)).checks, forge.requests.length]).toEqual(['[]', asked])
  forge.webhookTo(url, secret, { hold: true })
  expect(new Set(await forge.deliver(deliveries, { times: 2 }))).toEqual(new Set([202]))
  await board.untilPull(card, 'the check', ({ checks }) => checks.includes('success'))
  const before = (await board.pull(card)).readAt
  expect(new Set(await forge.deliver([...deliveries].reverse()))).toEqual(new Set([202]))
  const late = await board.server.app.db.all<{ id: string }>('SELECT id FROM forge_deliveries')
  expect(late).toHaveLength(new Set(deliveries.map(({ id }) => id)).size)
  expect((await board.pull(card)).readAt).toBe(before)
  const again = await board.client.forges.giveWebhookSecret({ projectId })
  expect(again.secret).not.toBe(secret)
  expect(new Set(await forge.deliver(deliveries))).toEqual(new Set([401]))
})

test('a delivery to a project without a secret, or too long to be read, is rejected', async () => {
  const { id } = await board.client.projects.create({ name: 'Other', path: board.folder('other') })
  const deliver = (projectId: string, body: string, headers: Record<string, string>) =>
    fetch(`${board.url}/api/forge-webhooks/${projectId}`, { method: 'POST', body, headers })
  const empty = createHmac('sha256', '').update('{}').digest('hex')
  const signed: Record<string, string>[] = [
    { 'x-github-event': 'push', 'x-github-delivery': '1', 'x-hub-signature-256': `sha256=${empty}` },
    { 'x-gitea-event': 'push', 'x-gitea-delivery': '2', 'x-gitea-signature': empty },
    { 'x-gitlab-event': 'Push Hook', 'x-gitlab-event-uuid': '3', 'x-gitlab-token': '' },
  ]
  for (const headers of signed) expect((await deliver(id, '{}', headers)).status).toBe(401)
  const large = await deliver(board.projectId, 'x'.repeat(5 * 1024 * 1024 + 1), signed[0]!)
  expect(large.status).toBe(413)
})
