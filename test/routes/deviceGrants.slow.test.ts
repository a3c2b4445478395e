import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  canaryDeviceCode,
  json,
  startCredentialProvider,
  type FakeCredentialProvider,
} from '../support/identity/fakeCredentialProvider.ts'
import { onLibsqlServer, startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'

const tokens = { access_token: 'canary-access-token', refresh_token: 'canary-refresh-token', expires_in: 3600 }
let board: TestBoard
let provider: FakeCredentialProvider
let now = Date.now()

beforeAll(async () => {
  board = await startBoard({
    clock: () => new Date(now),
    oauthClients: { github: { clientId: 'of-the-server', clientSecret: 'canary-client-secret', scope: 'models:read' } },
  })
})
beforeEach(async () => {
  await provider?.close()
  provider = await startCredentialProvider()
  now = Date.now()
})
afterAll(async () => {
  await board.close()
  await provider.close()
})

const start = (body: Record<string, unknown> = {}, on = board): Promise<Reply> =>
  on.request('POST', '/api/credentials/oauth/init', {
    body: { provider: 'custom', baseUrl: provider.url, clientId: 'client', ...body },
  })
const begun = async (body: Record<string, unknown> = {}, on = board): Promise<string> => {
  const reply = await start(body, on)
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data.credentialId
}
const statusOf = async (id: string, on = board): Promise<string> =>
  (await on.client.credentials.oauthStatus({ id })).status
const becomes = (id: string, status: string, on = board) =>
  eventually(`the status ${status}`, async () => (await statusOf(id, on)) === status, 10_000)
const intervalOf = async (id: string) =>
  JSON.parse(
    (await board.server.app.db.get<{ oauth: string }>('SELECT oauth FROM credentials WHERE id = ?', [Number(id)]))!
      .oauth,
  ).intervalSecs
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
const onDisk = (dataDir = board.dataDir) =>
  readdirSync(dataDir, { withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => readFileSync(join(dataDir, entry.name), 'latin1'))
    .join('\n')

describe('a device authorization', () => {
  it('returns a code and a page, waits, and ends with a sealed token that the provider accepts', async () => {
    const reply = await start({ name: 'Mine' })
    const { credentialId: id, ...shown } = reply.body.data
    expect(shown).toEqual({
      userCode: 'WDJB-MJHT',
      verificationUri: `${provider.url}/activate`,
      expiresAt: new Date(now + 900_000).toISOString(),
    })
    expect(provider.asked('/device')).toEqual([
      expect.objectContaining({ body: { client_id: 'client', scope: 'openid offline_access' } }),
    ])
    expect(await statusOf(id)).toBe('pending')
    expect(codeOf(await board.request('POST', `/api/credentials/${id}/verify`))).toEqual([409, 'CONFLICT'])
    provider.outcome = tokens
    await becomes(id, 'complete')
    expect(await board.client.credentials.get({ id })).toMatchObject({
      name: 'Mine',
      kind: 'oauth',
      provider: 'custom',
      apiKey: null,
    })
    provider.goodKey = tokens.access_token
    expect(await board.client.credentials.verify({ id })).toEqual({ valid: true, detail: null })
    for (const secret of ['canary', canaryDeviceCode]) expect(onDisk() + reply.text).not.toContain(secret)
  })

  it('is polled no faster than the provider allows, regardless of status reads', async () => {
    const id = await begun()
    await eventually('three questions', async () => {
      await Promise.all(Array.from({ length: 20 }, () => statusOf(id)))
      return provider.asked('/token').length >= 3
    })
    const times = provider.asked('/token').map(({ atMs }) => atMs)
    for (const [at, time] of times.entries())
      expect(time - (times[at - 1] ?? provider.asked('/device')[0]!.atMs)).toBeGreaterThan(990)
    await board.client.credentials.delete({ id })
  })

  it('polls more slowly if the provider requests it, and after a failure', async () => {
    provider.outcome = 'slow_down'
    const [slowed, failed] = [await begun(), await begun({ provider: 'github', baseUrl: provider.url })]
    provider.on('/login/oauth/access_token', (_, response) => {
      response.writeHead(502).end()
    })
    for (const id of [slowed, failed]) {
      await eventually('a slower pace', async () => (await intervalOf(id)) === 6)
      expect(await statusOf(id)).toBe('pending')
      await board.client.credentials.delete({ id })
    }
  })

  it('rejects intervals that are too fast, or too slow for a timer', async () => {
    for (const interval of [0.001, 1e12]) {
      provider.on('/device', (_, response) =>
        json(response, 200, {
          device_code: 'd',
          user_code: 'u',
          verification_uri: provider.url,
          expires_in: 1e12,
          interval,
        }),
      )
      const {
        body: { data },
      } = await start()
      expect(await intervalOf(data.credentialId)).toBe(interval < 1 ? 1 : 3600)
      expect(data.expiresAt).toBe(new Date(now + 3_600_000).toISOString())
      await board.client.credentials.delete({ id: data.credentialId })
    }
    expect(provider.asked('/token')).toEqual([])
  })

  it('shows at most a hundred characters of a code, and polls every five seconds by default', async () => {
    provider.on('/device', (_, response) =>
      json(response, 200, {
        device_code: 'd',
        user_code: 'x'.repeat(101),
        verification_uri: provider.url,
        expires_in: 900,
      }),
    )
    const {
      body: { data },
    } = await start()
    expect([data.userCode, await intervalOf(data.credentialId)]).toEqual(['x'.repeat(100), 5])
    await board.client.credentials.delete({ id: data.credentialId })
  })

  it.each([
    ['access_denied', 'failed'],
    ['invalid_grant', 'failed'],
    ['expired_token', 'expired'],
  ])('ends if the provider responds with %s', async (error, status) => {
    provider.outcome = error
    const id = await begun()
    await becomes(id, status)
    expect(codeOf(await board.request('POST', `/api/credentials/${id}/verify`))).toEqual([409, 'CONFLICT'])
    const asked = provider.asked('/token').length
    expect(await statusOf(id)).toBe(status)
    expect(provider.asked('/token')).toHaveLength(asked)
  })

  it('expires after its time, without another poll', async () => {
    const id = await begun()
    now += 900_000
    expect(await statusOf(id)).toBe('expired')
    expect(provider.asked('/token')).toEqual([])
  })

  it('continues after a restart when its status is polled', async () => {
    const before = await startBoard()
    const id = await begun({}, before)
    await before.server.stop()
    const asked = provider.asked('/token').length
    const after = await startBoard({ dataDir: before.dataDir })
    provider.outcome = tokens
    expect(provider.asked('/token')).toHaveLength(asked)
    expect(await statusOf(id, after)).toBe('pending')
    await becomes(id, 'complete', after)
    await after.close()
    await before.close()
  })

  it('is not polled after the server stops, even in the middle of a poll', async () => {
    let isOpen = false
    provider.on('/token', (_, response) => {
      isOpen = true
      response.on('close', () => {
        isOpen = false
      })
    })
    const stopping = await startBoard()
    await begun({}, stopping)
    await eventually('a question', () => isOpen)
    const startedAt = performance.now()
    await stopping.server.stop()
    await eventually('its end', () => !isOpen)
    expect(performance.now() - startedAt).toBeLessThan(5000 * slowdown())
    await stopping.close()
  })

  it('reports after a restart with another key that it cannot continue', async ({ skip }) => {
    skip(onLibsqlServer, 'With another key than the others have, no daemon starts.')
    const before = await startBoard({ secretKey: '11'.repeat(32) })
    const id = await begun({}, before)
    await before.server.stop()
    const after = await startBoard({ dataDir: before.dataDir, secretKey: '22'.repeat(32) })
    expect(codeOf(await after.request('GET', `/api/credentials/${id}/oauth/status`))).toEqual([
      409,
      'SEALED_WITH_OTHER_KEY',
    ])
    await after.close()
    await before.close()
  })

  it('ends if its credential is deleted', async () => {
    const id = await begun()
    await board.client.credentials.delete({ id })
    provider.outcome = tokens
    const other = await begun()
    await becomes(other, 'complete')
    expect(provider.asked('/token')).toHaveLength(1)
    expect(codeOf(await board.request('GET', `/api/credentials/${id}/oauth/status`))).toEqual([
      404,
      'CREDENTIAL_NOT_FOUND',
    ])
  })
})

describe('the providers', () => {
  it('accepts the errors that GitHub sends with status 200', async () => {
    await provider.close()
    provider = await startCredentialProvider(200)
    const id = await begun({ provider: 'github' })
    await eventually('a question', () => provider.asked('/login/oauth/access_token').length > 0)
    expect(await statusOf(id)).toBe('pending')
    provider.outcome = tokens
    await becomes(id, 'complete')
  })

  it("accepts Google's verification_url", async () => {
    const { body } = await start({ provider: 'google' })
    expect(body.data.verificationUri).toBe(`${provider.url}/activate`)
    await board.client.credentials.delete({ id: body.data.credentialId })
  })

  it("uses the server's client, but sends its secret to no address that a user chose", async () => {
    provider.outcome = tokens
    const id = await begun({ provider: 'github', clientId: undefined })
    await becomes(id, 'complete')
    expect(provider.asked('/login/device/code')[0]!.body).toEqual({ client_id: 'of-the-server', scope: 'models:read' })
    expect(provider.asked('/login/oauth/access_token')[0]!.body).toMatchObject({ client_id: 'of-the-server' })
    expect(JSON.stringify(provider.seen)).not.toContain('canary-client-secret')
  })

  it('without device authorization and without a client get different errors', async () => {
    for (const name of ['anthropic', 'openai', 'openrouter']) {
      const reply = await start({ provider: name, clientId: undefined })
      expect(codeOf(reply)).toEqual([400, 'VALIDATION_FAILED'])
      expect(reply.body.error.details).toEqual([{ path: 'provider', message: expect.stringContaining(name) }])
    }
    const reply = await start({ provider: 'google', clientId: undefined })
    expect(codeOf(reply)).toEqual([400, 'VALIDATION_FAILED'])
    expect(reply.body.error.message).toContain('BOARD_OAUTH_GOOGLE_CLIENT_ID')
    expect(provider.seen).toEqual([])
  })

  it('can refuse, lack device authorization, be offline, or not be an OAuth server', async () => {
    const refused = await start({ clientId: 'unknown' })
    expect([codeOf(refused), refused.body.error.details]).toEqual([
      [400, 'VALIDATION_FAILED'],
      [{ path: 'clientId', message: 'is rejected by custom (invalid_client)' }],
    ])
    provider.on('/device', (_, response) =>
      json(response, 200, {
        device_code: 'd',
        user_code: 'u',
        verification_uri: 'javascript:alert(1)',
        expires_in: 900,
      }),
    )
    expect(codeOf(await start())).toEqual([400, 'VALIDATION_FAILED'])
    provider.on('/device', (_, response) => {
      response.writeHead(302, { location: `${provider.url}/elsewhere` }).end()
    })
    expect(codeOf(await start())).toEqual([400, 'VALIDATION_FAILED'])
    expect(provider.asked('/elsewhere')).toEqual([])
    provider.on('/.well-known/openid-configuration', (_, response) =>
      json(response, 200, { issuer: `${provider.url}/`, token_endpoint: `${provider.url}/token` }),
    )
    expect((await start()).body.error.details).toEqual([
      { path: 'provider', message: 'custom has no device authorization at its baseUrl' },
    ])
    provider.on('/.well-known/openid-configuration', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Welcome')
    })
    expect(codeOf(await start())).toEqual([400, 'VALIDATION_FAILED'])
    await provider.close()
    const away = await start()
    expect([codeOf(away), away.headers.get('retry-after')]).toEqual([[503, 'PROVIDER_UNAVAILABLE'], '1'])
    expect(await board.client.credentials.list()).not.toContainEqual(expect.objectContaining({ baseUrl: provider.url }))
  })
})

describe('tokens and status of a device authorization', () => {
  it('exchanges expired tokens once for concurrent requests, and stores the new ones', async () => {
    provider.outcome = tokens
    const id = await begun()
    await becomes(id, 'complete')
    provider.refreshed = { access_token: 'canary-second-token', expires_in: 3600 }
    provider.goodKey = 'canary-second-token'
    expect((await board.client.credentials.verify({ id })).valid).toBe(false)
    now += 3_550_000
    const verdicts = await Promise.all(Array.from({ length: 5 }, () => board.client.credentials.verify({ id })))
    expect(verdicts).toEqual(Array.from({ length: 5 }, () => ({ valid: true, detail: null })))
    const refreshes = () => provider.asked('/token').filter(({ body }) => body.grant_type === 'refresh_token')
    expect(refreshes().map(({ body }) => body.refresh_token)).toEqual([tokens.refresh_token])
    provider.refreshed = 'invalid_grant'
    now += 3_600_000
    provider.goodKey = 'another'
    expect((await board.client.credentials.verify({ id })).valid).toBe(false)
    expect(refreshes().at(-1)!.body.refresh_token).toBe(tokens.refresh_token)
    expect(onDisk()).not.toContain('canary')
  })

  it('is not the status of an API key, or of another key or address', async () => {
    const { id } = await board.client.credentials.create({
      name: 'k',
      provider: 'openai',
      apiKey: 'sk-0123456789abcdef',
    })
    expect(codeOf(await board.request('GET', `/api/credentials/${id}/oauth/status`))).toEqual([409, 'CONFLICT'])
    const grant = await begun()
    for (const body of [{ apiKey: 'sk-0123456789abcdef' }, { baseUrl: 'https://example.org' }])
      expect(codeOf(await board.request('PATCH', `/api/credentials/${grant}`, { body }))).toEqual([
        400,
        'VALIDATION_FAILED',
      ])
    expect((await board.client.credentials.update({ id: grant, name: 'Renamed' })).name).toBe('Renamed')
    await board.client.credentials.delete({ id: grant })
  })

  it('is limited to ten at once', async () => {
    const replies = await Promise.all(Array.from({ length: 14 }, () => start()))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(10)
    expect(replies.filter(({ status }) => status !== 200).map(codeOf)).toEqual(
      Array.from({ length: 4 }, () => [409, 'CONFLICT']),
    )
    for (const { body } of replies) if (body.data) await board.client.credentials.delete({ id: body.data.credentialId })
  })
})
