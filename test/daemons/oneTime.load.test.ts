import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  json,
  startCredentialProvider,
  type FakeCredentialProvider,
} from '../support/identity/fakeCredentialProvider.ts'
import { type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { isSharable, startSharing, type Sharing } from './sharing.ts'

const tokens = { access_token: 'first-token', refresh_token: 'a-refresh-token', expires_in: 3600 }
const viaProxy = { 'x-forwarded-for': '203.0.113.7' }

describe.skipIf(!isSharable)('one-time codes and tokens, with several daemons', () => {
  let sharing: Sharing
  let one: TestBoard
  let two: TestBoard
  let provider: FakeCredentialProvider
  let aheadMs = 0
  const join = (machine: string) =>
    sharing.join(machine, { clock: () => new Date(Date.now() + aheadMs), trustProxy: true })

  beforeAll(async () => {
    sharing = await startSharing()
    ;[one, two] = [await join('one'), await join('two')]
    sharing.end(async () => provider?.close())
  })
  beforeEach(async () => {
    await provider?.close()
    provider = await startCredentialProvider()
  })

  const begun = async (on: TestBoard): Promise<string> => {
    const { status, text, body } = await on.request('POST', '/api/credentials/oauth/init', {
      body: { provider: 'custom', baseUrl: provider.url, clientId: 'client' },
    })
    expect(status, text).toBe(200)
    return body.data.credentialId
  }
  const statusOf = async (id: string, on: TestBoard) => (await on.client.credentials.oauthStatus({ id })).status
  const becomes = (id: string, status: string, on: TestBoard) =>
    eventually(`the status ${status}`, async () => (await statusOf(id, on)) === status, 10_000)
  const questions = () => provider.asked('/token')

  it('the setup code of any daemon is accepted by each, until there is a user', async () => {
    const [code, other] = [one, two].map(({ server }) => server.app.identity.setupCode())
    expect(code).toMatch(/^([0-9a-f]{4}-){3}[0-9a-f]{4}$/)
    expect(other).toBe(code)
    const setup = (on: TestBoard, setupCode: string, email = 'root@example.org') =>
      on.request('POST', '/api/auth/setup', {
        token: null,
        headers: viaProxy,
        body: { email, password: 'correct horse 1', setupCode },
      })
    expect((await setup(two, 'ffff-ffff-ffff-ffff')).status).toBe(403)
    const replies = await Promise.all([setup(two, code!), setup(one, code!, 'second@example.org')])
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409])
    for (const board of [one, two]) expect((await setup(board, code!)).body.error.code).toBe('SETUP_ALREADY_DONE')
  })

  it('an authorization that starts at one is completed at the other, and two daemons poll the provider no faster than one', async () => {
    const id = await begun(one)
    await eventually(
      'four questions',
      async () => {
        expect(await Promise.all([one, two].map(board => statusOf(id, board)))).toEqual(['pending', 'pending'])
        return questions().length >= 4
      },
      15_000,
    )
    const times = questions().map(({ atMs }) => atMs)
    for (const [at, time] of times.entries())
      expect(time - (times[at - 1] ?? provider.asked('/device')[0]!.atMs)).toBeGreaterThan(990)
    provider.outcome = tokens
    await becomes(id, 'complete', two)
    expect(await statusOf(id, one)).toBe('complete')
    provider.goodKey = tokens.access_token
    expect(await two.client.credentials.verify({ id })).toMatchObject({ valid: true })
  })

  it('continues at another daemon when the one that polled the provider has stopped', async () => {
    const three = await join('three')
    const id = await begun(three)
    await statusOf(id, one)
    await eventually('a question', () => questions().length > 0)
    await three.server.stop()
    provider.outcome = tokens
    await becomes(id, 'complete', one)
  })

  it('a daemon that learns late of the end of an authorization does not exchange its tokens again', async () => {
    const id = await begun(one)
    const tokenUses = () => questions().filter(({ body }) => body.grant_type === 'refresh_token')
    let answer = () => {}
    const answered = new Promise<void>(resolve => (answer = resolve))
    provider.on('/token', ({ body }, response) => {
      const isRefresh = body.grant_type === 'refresh_token'
      // Longer than the pause after which the other daemon checks the authorization again.
      const due = isRefresh ? new Promise(resolve => setTimeout(resolve, 1500)) : answered
      const isGood = !isRefresh || tokenUses().length === 1
      void due.then(() =>
        json(response, isGood ? 200 : 400, {
          ...(isGood ? { ...tokens, token_type: 'bearer' } : { error: 'invalid_grant' }),
          ...(isRefresh && { access_token: 'second-token' }),
        }),
      )
    })
    provider.goodKey = 'second-token'
    await eventually('a question', () => questions().length > 0)
    expect(await statusOf(id, two)).toBe('pending')
    answer()
    await eventually('the tokens', async () => (await statusOf(id, one)) === 'complete', 10_000)
    aheadMs = 3_550_000
    const first = two.client.credentials.verify({ id })
    await eventually('the exchange', () => tokenUses().length > 0)
    const verdicts = await Promise.all([first, one.client.credentials.verify({ id })])
    aheadMs = 0
    expect(verdicts).toEqual(verdicts.map(() => ({ valid: true, detail: null })))
    expect(tokenUses()).toHaveLength(1)
  })

  it('a refresh token is used once, regardless of how many daemons find the tokens expired', async () => {
    provider.outcome = tokens
    const id = await begun(one)
    await becomes(id, 'complete', two)
    provider.goodKey = 'second-token'
    // A provider that accepts a refresh token once, and revokes everything on its reuse.
    provider.on('/token', ({ body }, response) => {
      const isFirst = questions().filter(asked => asked.body.refresh_token === body.refresh_token).length === 1
      if (!isFirst) provider.goodKey = 'no longer any'
      setTimeout(() => {
        response.writeHead(isFirst ? 200 : 400, { 'content-type': 'application/json' })
        response.end(
          JSON.stringify(
            isFirst
              ? { token_type: 'bearer', access_token: 'second-token', refresh_token: 'another', expires_in: 3600 }
              : { error: 'invalid_grant' },
          ),
        )
      }, 300)
    })
    aheadMs = 3_550_000
    const verdicts = await Promise.all([one, two, one, two].map(board => board.client.credentials.verify({ id })))
    aheadMs = 0
    expect(verdicts).toEqual(verdicts.map(() => ({ valid: true, detail: null })))
    expect(questions().filter(({ body }) => body.grant_type === 'refresh_token')).toHaveLength(1)
    await eventually(
      'no turn left',
      async () =>
        (await one.server.app.db.all(`SELECT name FROM leases WHERE name LIKE 'credential:%' AND ends_at_ms > 0`))
          .length === 0,
    )
  })
})
