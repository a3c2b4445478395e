import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as credentials from '../../src/domain/accounts/credentials.ts'
import { addUsage } from '../../src/store/accounts/credentials.ts'
import { startCredentialProvider, type FakeCredentialProvider } from '../support/identity/fakeCredentialProvider.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { follow } from '../support/receivers/liveSocket.ts'

const apiKey = 'sk-canary-0123456789abcdef-WXYZ'
let board: TestBoard
let provider: FakeCredentialProvider
let own: string
let foreign: string

beforeAll(async () => {
  provider = await startCredentialProvider()
  board = await startBoard()
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  own = (await board.as().auth.register({ email: 'own@example.org', password: 'own password' })).token
  foreign = (await board.as().auth.register({ email: 'foreign@example.org', password: 'foreign password' })).token
})
afterAll(async () => {
  await board.close()
  await provider.close()
})

const request = (method: string, path: string, body?: unknown, token = own) =>
  board.request(method, path, { token, body })
const add = async (body: Record<string, unknown> = {}, token = own): Promise<{ id: string }> => {
  const reply = await request(
    'POST',
    '/api/credentials',
    { name: 'k', provider: 'custom', baseUrl: provider.url, apiKey, ...body },
    token,
  )
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
const verify = async (id: string) => (await request('POST', `/api/credentials/${id}/verify`)).body.data
const newProject = async (token = own, more = {}) =>
  (await board.as(token).projects.create({ name: 'P', path: board.folder('p'), ...more })).id
/** All bytes on disk: the database, its log, and the files next to it. */
const onDisk = (dataDir = board.dataDir) =>
  readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')

describe('storing an API key', () => {
  it('shows its last four characters to its owner, and never more', async () => {
    const made = await request('POST', '/api/credentials', { name: 'Mine', provider: 'anthropic', apiKey })
    expect(made.status).toBe(201)
    const { id } = made.body.data
    const time = expect.stringMatching(/^\d{4}-.*Z$/)
    expect(made.body.data).toEqual({
      id: expect.stringMatching(/^\d+$/),
      name: 'Mine',
      provider: 'anthropic',
      baseUrl: null,
      headers: [],
      models: [],
      agentSlots: null,
      kind: 'api_key',
      createdAt: time,
      updatedAt: time,
    })
    const read = await request('GET', `/api/credentials/${id}`)
    expect(read.body.data).toEqual({ ...made.body.data, apiKey: '…WXYZ' })
    const list = await request('GET', '/api/credentials')
    expect(list.body.data).toContainEqual(made.body.data)
    for (const { text } of [made, read, list]) expect(text).not.toContain('canary')
  })

  it('shows nothing of a key that is too short for that', async () => {
    const { id } = await add({ apiKey: 'short-key' })
    expect((await request('GET', `/api/credentials/${id}`)).body.data.apiKey).toBe('…')
  })

  it('requires a key, and an address for a provider without a default', async () => {
    const wrong: Array<[Record<string, unknown>, string]> = [
      [{ provider: 'openai' }, 'apiKey'],
      [{ provider: 'custom', apiKey }, 'baseUrl'],
      [{ provider: 'acme', apiKey }, 'provider'],
      [{ provider: 'openai', apiKey: 'sk-canary with space' }, 'apiKey'],
      [{ provider: 'openai', apiKey: 'sk-canary\r\nx: y' }, 'apiKey'],
      ...[
        'ftp://canary.example',
        'canary',
        'https://user:canary@example.org',
        'https://example.org/?key=canary',
        'https://example.org/#canary',
      ].map((baseUrl): [Record<string, unknown>, string] => [{ provider: 'openai', apiKey, baseUrl }, 'baseUrl']),
    ]
    for (const [body, path] of wrong) {
      const reply = await request('POST', '/api/credentials', { name: 'k', ...body })
      expect(codeOf(reply), JSON.stringify(body)).toEqual([400, 'VALIDATION_FAILED'])
      expect(reply.body.error.details).toEqual([expect.objectContaining({ path })])
      expect(reply.text).not.toContain('canary')
    }
  })

  it('changes name and key, and requires the key again for another server', async () => {
    const { id } = await add()
    const patch = (body: Record<string, unknown>) => request('PATCH', `/api/credentials/${id}`, body)
    expect((await patch({ name: 'Renamed' })).body.data).toMatchObject({ id, name: 'Renamed', provider: 'custom' })
    expect((await request('GET', `/api/credentials/${id}`)).body.data.apiKey).toBe('…WXYZ')
    const moved = await patch({ baseUrl: 'http://127.0.0.1:1/' })
    expect(codeOf(moved)).toEqual([400, 'VALIDATION_FAILED'])
    expect(moved.body.error.details[0].path).toBe('apiKey')
    expect((await patch({ baseUrl: `${provider.url}/deeper` })).status).toBe(200)
    for (const nowhere of [{ baseUrl: null }, { baseUrl: null, apiKey: 'sk-another-0123456789-QRST' }]) {
      const refused = await patch(nowhere)
      expect([...codeOf(refused), refused.body.error.details[0].path]).toEqual([400, 'VALIDATION_FAILED', 'baseUrl'])
    }
    expect((await patch({ baseUrl: 'http://127.0.0.1:1/', apiKey: 'sk-another-0123456789-QRST' })).status).toBe(200)
    expect((await request('GET', `/api/credentials/${id}`)).body.data).toMatchObject({
      apiKey: '…QRST',
      baseUrl: 'http://127.0.0.1:1/',
    })
  })

  it('treats the credentials of others as missing, also for administrators', async () => {
    const { id } = await add()
    const projectId = await newProject(foreign)
    const { id: cardId } = await board.as(foreign).cards.create({ projectId, title: 'c' })
    const routes: Array<[string, (id: string) => string, ((id: string) => unknown)?]> = [
      ['GET', it => `/api/credentials/${it}`],
      ['PATCH', it => `/api/credentials/${it}`, () => ({ name: 'x' })],
      ['DELETE', it => `/api/credentials/${it}`],
      ['POST', it => `/api/credentials/${it}/verify`],
      ['GET', it => `/api/credentials/${it}/usage`],
      ['GET', it => `/api/credentials/${it}/oauth/status`],
      ['PUT', () => `/api/projects/${projectId}/credential`, credentialId => ({ credentialId })],
      ['PUT', () => `/api/projects/${projectId}/cards/${cardId}/credential`, credentialId => ({ credentialId })],
    ]
    for (const token of [foreign, board.token])
      for (const [method, path, body] of routes) {
        const [others, none] = await Promise.all([id, '999999'].map(it => request(method, path(it), body?.(it), token)))
        expect(codeOf(others!), `${method} ${path(id)}`).toEqual([404, 'CREDENTIAL_NOT_FOUND'])
        expect(others!.text).toBe(none!.text)
      }
    expect((await request('GET', '/api/credentials', undefined, board.token)).body.data).toEqual([])
    expect((await request('GET', `/api/credentials/${id}`)).status).toBe(200)
  })

  it('passes from the local operator to the first user', async () => {
    const fresh = await startBoard()
    const { id } = await fresh.client.credentials.create({ name: 'k', provider: 'openai', apiKey })
    const { token } = await fresh.as().auth.setup({ email: 'root@example.org', password: 'root password' })
    expect(await fresh.as(token).credentials.get({ id })).toMatchObject({ id, apiKey: '…WXYZ' })
    await fresh.close()
  })
})

describe('verifying a key', () => {
  const ways = [
    ['anthropic', '/v1/models', { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }],
    ['openai', '/v1/models', { authorization: `Bearer ${apiKey}` }],
    ['google', '/v1beta/models', { 'x-goog-api-key': apiKey }],
    ['openrouter', '/api/v1/key', { authorization: `Bearer ${apiKey}` }],
    ['github', '/user', { authorization: `Bearer ${apiKey}` }],
    ['custom', '/models', { authorization: `Bearer ${apiKey}` }],
  ] as const
  it.each(ways)('sends %s a request for %s', async (name, path, headers) => {
    const { id } = await add({ provider: name, baseUrl: `${provider.url}/` })
    provider.goodKey = apiKey
    expect(await verify(id)).toEqual({ valid: true, detail: null })
    expect(provider.asked(path).at(-1)).toMatchObject({ method: 'GET', headers })
    provider.goodKey = 'another'
    const { valid, detail } = await verify(id)
    expect([valid, detail]).toEqual([false, expect.stringContaining('401')])
    expect(detail).not.toContain('canary')
  })

  it("requests a base URL that ends with the API's version once, and sends the credential's headers", async () => {
    const { id } = await add({
      provider: 'openai',
      baseUrl: `${provider.url}/v1`,
      headers: { 'X-Team': 'blue' },
      models: ['big'],
    })
    provider.goodKey = apiKey
    expect(await verify(id)).toEqual({ valid: true, detail: null })
    expect(provider.asked('/v1/models').at(-1)).toMatchObject({ headers: { 'x-team': 'blue' } })
    const { body, text } = await request('GET', `/api/credentials/${id}`)
    expect(body.data).toMatchObject({ headers: ['X-Team'], models: ['big'] })
    expect(text).not.toContain('blue')
    const moved = await request('PATCH', `/api/credentials/${id}`, { baseUrl: 'http://127.0.0.1:9', apiKey })
    expect([moved.status, moved.body.error.details[0].path]).toEqual([400, 'headers'])
  })

  it("recognizes each provider's rejection", async () => {
    const { id } = await add({ provider: 'google' })
    provider.on('/v1beta/models', (_, response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"API key not valid."}}')
    })
    expect(await verify(id)).toEqual({ valid: false, detail: 'The provider refuses the key (status 400).' })
  })

  it('follows no redirect with the key', async () => {
    const other = await startCredentialProvider()
    other.goodKey = apiKey
    const { id } = await add()
    provider.on('/models', (_, response) => {
      response.writeHead(302, { location: `${other.url}/models` }).end()
    })
    expect(await verify(id)).toEqual({ valid: false, detail: expect.stringContaining('redirect') })
    expect(other.seen).toEqual([])
    await other.close()
  })

  it('does not accept a page, an error or an endless response as proof', async () => {
    const { id } = await add()
    provider.on('/models', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Welcome')
    })
    expect(await verify(id)).toEqual({ valid: false, detail: expect.stringContaining('base URL') })
    provider.on('/models', (_, response) => {
      response.writeHead(429).end()
    })
    expect(await verify(id)).toEqual({ valid: false, detail: expect.stringContaining('not known') })
    const sent = { bytes: 0, closed: false }
    provider.on('/models', (_, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .on('close', () => {
          sent.closed = true
        })
        .on('error', () => {
          sent.closed = true
        })
      const more = () => {
        while (!sent.closed && response.write('x'.repeat(65_536))) sent.bytes += 65_536
        response.once('drain', more)
      }
      more()
    })
    expect(await verify(id)).toEqual({ valid: true, detail: null })
    await expect.poll(() => sent.closed).toBe(true)
    expect(sent.bytes).toBeLessThan(16 * 1024 * 1024)
  })

  it('reports an unreachable provider, without the key', async () => {
    const closed = await startCredentialProvider()
    await closed.close()
    const { id } = await add({ baseUrl: closed.url })
    expect(await verify(id)).toEqual({ valid: false, detail: 'The provider could not be reached: ECONNREFUSED.' })
  })

  it('waits ten seconds for a response', async () => {
    const { id } = await add()
    provider.on('/models', () => {
      /* never */
    })
    const startedAtMs = performance.now()
    expect(await verify(id)).toEqual({
      valid: false,
      detail: 'The provider could not be reached: it did not answer within 10 seconds.',
    })
    expect(performance.now() - startedAtMs).toBeGreaterThan(9900)
  })
})

describe('choosing', () => {
  it("gives a card its own credential, otherwise its project's, otherwise its organization's default", async () => {
    const { app } = board.server
    const { id: organizationId } = await board.as(own).organizations.create({ name: 'Crew' })
    const projectId = await newProject(own, { organizationId })
    const { id: cardId } = await board.as(own).cards.create({ projectId, title: 'c' })
    const [ofCard, ofProject, ofOrganization] = [await add(), await add(), await add()].map(({ id }) => id)
    const used = async () => (await credentials.credentialFor(app.db, { id: Number(cardId) }, null))?.id.toString()
    const choose = async (path: string, credentialId: string | null) =>
      (await request('PUT', path, { credentialId })).body.data
    const [card, project, organization] = [
      `/api/projects/${projectId}/cards/${cardId}/credential`,
      `/api/projects/${projectId}/credential`,
      `/api/organizations/${organizationId}/default-credential`,
    ]
    expect(await used()).toBeUndefined()
    expect(await choose(organization, ofOrganization!)).toMatchObject({
      id: organizationId,
      defaultCredentialId: ofOrganization,
    })
    expect(await used()).toBe(ofOrganization)
    expect(await choose(project, ofProject!)).toEqual({ id: projectId, credentialId: ofProject })
    expect(await used()).toBe(ofProject)
    expect((await board.as(own).projects.get({ id: projectId })).credentialId).toBe(ofProject)
    expect(await choose(card, ofCard!)).toEqual({ id: cardId, credentialId: ofCard })
    expect(await used()).toBe(ofCard)
    expect(await choose(card, null)).toEqual({ id: cardId, credentialId: null })
    expect(await used()).toBe(ofProject)
    await request('DELETE', `/api/credentials/${ofProject}`)
    expect((await board.as(own).projects.get({ id: projectId })).credentialId).toBeNull()
    expect(await used()).toBe(ofOrganization)
    await choose(organization, null)
    expect(await used()).toBeUndefined()
  })

  it('sends an event to the users who watch the project', async () => {
    const projectId = await newProject()
    const { id: cardId } = await board.as(own).cards.create({ projectId, title: 'c' })
    const { id } = await add()
    const live = await follow(board.url, own, projectId)
    await request('PUT', `/api/projects/${projectId}/credential`, { credentialId: id })
    await live.message('project.updated')
    await request('PUT', `/api/projects/${projectId}/cards/${cardId}/credential`, { credentialId: id })
    expect((await live.message('card.updated')).data).toMatchObject({ id: cardId, version: 2 })
    live.close()
  })

  it('lets a project admin assign only an own credential, but remove one of another user', async () => {
    const projectId = await newProject()
    const { id: mine } = await add()
    const { id: theirs } = await add({}, foreign)
    await board.server.app.db.transaction(tx =>
      tx.run(
        'INSERT INTO project_members (project_id, user_id, role, created_at) SELECT ?, id, ?, ? FROM users WHERE email = ?',
        [Number(projectId), 'admin', tx.now, 'foreign@example.org'],
      ),
    )
    const path = `/api/projects/${projectId}/credential`
    expect((await request('PUT', path, { credentialId: mine })).status).toBe(200)
    expect(codeOf(await request('PUT', path, { credentialId: mine }, foreign))).toEqual([404, 'CREDENTIAL_NOT_FOUND'])
    expect((await request('PUT', path, { credentialId: null }, foreign)).body.data).toEqual({
      id: projectId,
      credentialId: null,
    })
    expect((await request('PUT', path, { credentialId: theirs }, foreign)).body.data).toEqual({
      id: projectId,
      credentialId: theirs,
    })
    expect(
      codeOf(await request('PUT', `/api/projects/${projectId}/cards/999999/credential`, { credentialId: mine })),
    ).toEqual([404, 'CARD_NOT_FOUND'])
  })
})

it('reports the usage of agents, in total and by day', async () => {
  const { id } = await add()
  const path = `/api/credentials/${id}/usage`
  expect((await request('GET', path)).body.data).toEqual({
    sessions: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
    byDay: [],
  })
  const day = (text: string, costUsd: number) => ({
    day: text,
    sessions: 1,
    inputTokens: 1000,
    outputTokens: 10,
    costUsd,
  })
  await board.server.app.db.transaction(async tx => {
    for (const each of [day('2026-01-02', 0.5), day('2026-01-01', 0.25), day('2026-01-02', 0.25)])
      await addUsage(tx, Number(id), each)
  })
  expect((await request('GET', path)).body.data).toEqual({
    sessions: 3,
    inputTokens: 3000,
    outputTokens: 30,
    costUsd: 1,
    byDay: [
      { day: '2026-01-01', sessions: 1, inputTokens: 1000, outputTokens: 10, costUsd: 0.25 },
      { day: '2026-01-02', sessions: 2, inputTokens: 2000, outputTokens: 20, costUsd: 0.75 },
    ],
  })
})

it('stores no key in plain text on disk', () => {
  expect(onDisk()).not.toContain('canary')
})
