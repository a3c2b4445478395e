import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readDelivery, type ForgeDelivery } from '../../src/forge/deliveries.ts'
import { FakeForge } from '../support/forge/fakeForge.ts'
import { startReceiver } from '../support/receivers/webhookReceiver.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-deliveries-'))
const secret = 'a secret of the two'
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each(['github', 'gitlab', 'gitea'] as const)('%s', kind => {
  /** The webhook deliveries for the changes that `happens` makes. */
  async function told(happens: (fake: FakeForge) => unknown): Promise<(ForgeDelivery | undefined)[]> {
    const receiver = await startReceiver()
    const fake = await FakeForge.start({ kind, folder: mkdtempSync(join(folder, kind)) })
    fake.webhookTo(receiver.url, secret)
    try {
      await happens(fake)
      await fake.delivered()
      return receiver.received.map(({ headers, body }) => readDelivery(kind, headers, Buffer.from(body), secret))
    } finally {
      await fake.close()
      await receiver.close()
    }
  }
  const kinds = (deliveries: (ForgeDelivery | undefined)[]) => deliveries.map(each => each?.kind)

  it('identifies the subject of each delivery', async () => {
    let head = ''
    const all = await told(fake => {
      head = fake.push('work', { 'a.txt': 'one\n' })
      const { number } = fake.openPull({ head: 'work' })
      fake.setCheck(head, 'build', 'failure')
      fake.review(number, 'ann', 'approved')
      fake.comment(number, 'Hello', { on: 'pull' })
      const issue = fake.openIssue({ title: 'Broken' })
      fake.comment(issue.number, 'Hello', { on: 'issue' })
    })
    const issue = kind === 'gitlab' ? 1 : 2
    expect(all).toMatchObject([
      { kind: 'pull', branch: 'work', commit: head },
      { kind: 'pull', number: 1, branch: 'work', commit: head },
      { kind: 'checks', commit: head },
      { kind: 'review', number: 1 },
      { kind: 'comment', number: 1 },
      { kind: 'issue', issue },
      { kind: 'comment', issue },
    ])
    expect(all.every(each => each!.repository === 'acme/site')).toBe(true)
    expect(new Set(all.map(each => each!.id)).size).toBe(all.length)
    expect(all[6]).not.toHaveProperty('number')
  })

  it('gives a repeated delivery the same name', async () => {
    const twice = await told(async fake => {
      fake.openIssue({ title: 'Broken' })
      await fake.delivered()
      await fake.deliver(fake.deliveries)
    })
    expect(twice).toHaveLength(2)
    expect(twice[1]).toEqual(twice[0])
  })

  it('rejects a delivery without a signature, or with the signature of another body', async () => {
    const receiver = await startReceiver()
    const fake = await FakeForge.start({ kind, folder: mkdtempSync(join(folder, kind)) })
    fake.webhookTo(receiver.url, secret, { hold: true })
    fake.openIssue({ title: 'Broken' })
    const held = [...fake.held]
    for (const options of [{}, { secret: 'another' }, { secret: '' }]) await fake.deliver(held, options)
    if (kind !== 'gitlab') await fake.deliver(held, { body: '{"action":"opened"}' })
    await fake.close()
    await receiver.close()
    const read = receiver.received.map(({ headers, body }) => readDelivery(kind, headers, Buffer.from(body), secret))
    expect(kinds(read)).toEqual(['issue', ...receiver.received.slice(1).map(() => undefined)])
    const { headers, body } = receiver.received[0]!
    expect(readDelivery(kind, headers, Buffer.from(body), '')).toBeUndefined()
    expect(readDelivery(kind, {}, Buffer.from(body), secret)).toBeUndefined()
  })
})

const sign = (body: string | Buffer) => createHmac('sha256', secret).update(body).digest('hex')

it('reads unexpected bodies', () => {
  for (const body of ['', '[]', 'null', '{"pull_request":7,"issue":{"number":"x"},"repository":[]}', '{"a":', '\0']) {
    const headers = { 'x-hub-signature-256': `sha256=${sign(body)}`, 'x-github-event': 'pull_request' }
    const read = readDelivery('github', headers, Buffer.from(body), secret)
    expect(read).toMatchObject({ kind: 'other', id: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(Object.keys(read!)).toEqual(['id', 'kind'])
  }
})

it('reads forms of GitHub, and pings', () => {
  const form = new URLSearchParams({ payload: '{"zen":"x","repository":{"full_name":"acme/site"}}' }).toString()
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'x-hub-signature-256': `sha256=${sign(form)}`,
    'x-github-event': 'ping',
    'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  }
  expect(readDelivery('github', headers, Buffer.from(form), secret)).toEqual({
    id: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    kind: 'ping',
    repository: 'acme/site',
  })
})

it('accepts signatures of Forgejo', () => {
  const body = '{"ref":"refs/heads/work","after":"0000000000000000000000000000000000000000"}'
  const headers = { 'x-forgejo-signature': sign(body), 'x-forgejo-event': 'push', 'x-forgejo-delivery': 'abc' }
  expect(readDelivery('gitea', headers, Buffer.from(body), secret)).toEqual({ id: 'abc', kind: 'pull', branch: 'work' })
})
