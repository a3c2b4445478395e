import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { paramsOf } from '../../src/contract/paths.ts'
import { textParams } from '../../src/contract/route.ts'
import { exampleOf, requestOf, rows, tokenFor, type Row } from '../support/contract/examples.ts'
import { startBoard, type Reply, type RequestOptions, type TestBoard } from '../support/servers/testBoard.ts'
import {
  countStoredAnswers,
  readDocumentedAnswers,
  serverRows,
  type DocumentedAnswers,
} from '../support/contract/documentedAnswers.ts'
import { preparations } from '../support/contract/preparations.ts'
import { fileBody, seed, startSlotlessBoard, type Seed } from '../support/contract/seed.ts'

/** Compares the OpenAPI document's promises with the server, route by route. serverPromises.slow.test.ts has the routes that change a whole server. */
let board: TestBoard
let own: Seed
let promises: DocumentedAnswers
beforeAll(async () => {
  board = await startSlotlessBoard()
  await board.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  own = await seed(board)
  promises = await readDocumentedAnswers(board)
})
afterAll(() => board.close())

function send(
  row: Row,
  input: Record<string, unknown>,
  { on = board, token = tokenFor(row, own), headers = {} }: { on?: TestBoard } & RequestOptions = {},
): Promise<Reply> {
  const { path, options } = requestOf(row.route, input)
  return on.request(row.route.method, path, { ...options, token, headers: { ...options.headers, ...headers } })
}

/** Creates a separate seed for a request that can change something. */
async function freshSeed({ name }: Row): Promise<Seed> {
  const fresh = await seed(board)
  await preparations[name]?.(board, fresh)
  return fresh
}

let keys = 0
const newKey = () => `promise-${++keys}`

const writes = rows.filter(({ route, name }) => route.method !== 'GET' && !serverRows.includes(name))

describe('an Idempotency-Key', () => {
  const cases = writes.map(row => [row.name, row] as const)
  test.each(cases)('%s honors it or not, as promised', async (_, row) => {
    const fresh = await freshSeed(row)
    const [key, input] = [newKey(), exampleOf(row, fresh)]
    const ask = () => send(row, input, { token: tokenFor(row, fresh), headers: { 'idempotency-key': key } })
    const [first, second] = [await ask(), await ask()]
    if (!promises.offers(row, 'Idempotency-Key')) return expect(await countStoredAnswers(board, key)).toBe(0)
    expect(first.status, first.text).toBe(201)
    expect([second.status, second.body, second.headers.get('etag'), await countStoredAnswers(board, key)]).toEqual([
      201,
      first.body,
      first.headers.get('etag'),
      1,
    ])
    const other = row.route.body === 'multipart' ? fileBody('other.txt', 'other') : undefined
    const { path, options } = requestOf(row.route, { ...input, name: 'Other', title: 'Other', content: 'Other' })
    const reused = await board.request(row.route.method, path, {
      ...options,
      ...other,
      ...(row.name === 'monitors.create' && { body: { ...(options.body as object), intervalSecs: 61 } }),
      token: tokenFor(row, fresh),
      headers: { ...options.headers, ...other?.headers, 'idempotency-key': key },
    })
    if (reused.status !== 400) expect(reused.body.error).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  })
})

describe('If-Match', () => {
  test.each(writes.map(row => [row.name, row] as const))('%s honors it or not, as promised', async (_, row) => {
    const fresh = await freshSeed(row)
    const refused = await send(row, exampleOf(row, fresh), {
      token: tokenFor(row, fresh),
      headers: { 'if-match': '"999999"' },
    })
    if (!promises.offers(row, 'If-Match')) return expect(refused.status, refused.text).not.toBe(412)
    expect([refused.status, refused.body.error.code]).toEqual([412, 'VERSION_CONFLICT'])
    expect(promises.codesOf(row, 412)).toEqual(['VERSION_CONFLICT'])
    const { version } = await board.client.cards.get({ projectId: fresh.projectId, cardId: fresh.cardId })
    const allowed = await send(row, exampleOf(row, fresh), {
      token: tokenFor(row, fresh),
      headers: { 'if-match': `"${version}"` },
    })
    expect(allowed.status, allowed.text).toBe(200)
  })
})

describe('a parameter with an unknown id', () => {
  // A caller without a signature cannot learn what exists.
  const cases = rows
    .filter(({ route }) => !route.signed)
    .flatMap(row => paramsOf(row.route.path).map(param => [row.name, param, row] as const))
  test.each(cases)('%s {%s} returns the promised code', async (name, param, row) => {
    const { description } = promises.operationOf(row).parameters.find(each => each.name === param)!
    const promised = /^Returns ([A-Z_]+)/.exec(description!)?.[1]
    expect(promises.codesOf(row, 404)).toContain(promised)
    const isText = (textParams as readonly string[]).includes(param)
    for (const missing of isText ? ['nobody-20200101-000000.tar.gz', 'nobody@example.org'] : ['999999999', '0', 'x']) {
      const reply = await send(row, { ...exampleOf(row, own), [param]: missing })
      const isAgents = row.route.who.kind === 'agent' && (param === 'projectId' || param === 'cardId')
      if (row.route.integerIds && missing !== '999999999')
        expect([missing, reply.status, reply.body.error.code]).toEqual([missing, 400, 'INVALID_ID'])
      // An agent's token names its card, so a request for another card is rejected before a lookup.
      else if (isAgents && missing === '999999999') expect(reply.body.error.code).toBe('AGENT_TOKEN_REQUIRED')
      else expect([name, missing, reply.status, reply.body.error.code]).toEqual([name, missing, 404, promised])
    }
  })
})

describe('a limit', () => {
  const perMinute = 3
  let limited: TestBoard
  let there: Seed
  beforeAll(async () => {
    limited = await startBoard({ externalRequestsPerMinute: perMinute, maxTransfers: 0 })
    there = await seed(limited)
  })
  afterAll(() => limited.close())

  function expectLimited({ status, headers, body, text }: Reply): void {
    expect([status, body.error?.code], text).toEqual([429, 'RATE_LIMITED'])
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  }
  const limitedBy = (kind: string) => rows.filter(({ route }) => route.rateLimit === kind)
  const newApiKey = async () => {
    const { projectId } = there
    const permissions = ['cards.read', 'cards.create', 'cards.move', 'agents.archive', 'agents.cancel'] as const
    return (await limited.client.keys.create({ name: 'k', scope: 'project', projectId, permissions: [...permissions] }))
      .key
  }

  it('is declared by its sentence and by 429', () => {
    for (const row of rows)
      expect([row.name, promises.operationOf(row).description.includes('Limited: ')]).toEqual([
        row.name,
        row.route.rateLimit !== undefined,
      ])
    for (const row of rows.filter(({ route }) => route.rateLimit))
      expect(promises.codesOf(row, 429)).toEqual(['RATE_LIMITED'])
  })

  test.each(limitedBy('apiKey').map(row => [row.name, row] as const))('of requests holds for %s', async (_, row) => {
    const token = await newApiKey()
    const input = { ...exampleOf(row, there), projectId: there.projectId }
    for (let sent = 0; sent < perMinute; sent++)
      expect((await send(row, input, { on: limited, token })).status).not.toBe(429)
    expectLimited(await send(row, input, { on: limited, token }))
  })

  it('of requests applies to no row that does not declare it', async () => {
    const token = await newApiKey()
    const external = limitedBy('apiKey').find(({ name }) => name === 'external.boards')!
    for (let sent = 0; sent <= perMinute; sent++) await send(external, there as never, { on: limited, token })
    expectLimited(await send(external, there as never, { on: limited, token }))
    for (const row of rows.filter(({ route }) => !route.rateLimit && route.who.kind === 'member')) {
      const nothing = Object.fromEntries(paramsOf(row.route.path).map(name => [name, '999999999']))
      expect([row.name, (await send(row, nothing, { on: limited, token })).status]).not.toEqual([row.name, 429])
    }
  })

  test.each(limitedBy('transfers').map(row => [row.name, row] as const))(
    'of transfers applies to %s',
    async (_, row) => {
      expectLimited(await send(row, exampleOf(row, there), { on: limited, token: limited.token }))
    },
  )

  test.each(limitedBy('signIn').map(row => [row.name, row] as const))('of failures holds for %s', async (name, row) => {
    const guarded = await startBoard({ trustProxy: name === 'auth.setup' })
    if (name !== 'auth.setup') await guarded.as().auth.setup({ email: 'bob@example.org', password: 'correct horse' })
    const token =
      name === 'auth.setPassword'
        ? (await guarded.as().auth.login({ email: 'bob@example.org', password: 'correct horse' })).token
        : null
    const input = { ...exampleOf(row, own), ...(name === 'auth.login' && { email: 'bob@example.org', password: 'no' }) }
    // From beyond this machine, where the setup code is required.
    const headers: Record<string, string> = name === 'auth.setup' ? { 'x-forwarded-for': '203.0.113.7' } : {}
    const replies: Reply[] = []
    for (let tries = 0; tries < 11; tries++) replies.push(await send(row, input, { on: guarded, token, headers }))
    expect(new Set(replies.slice(0, 10).map(({ status }) => status)).has(429)).toBe(false)
    expectLimited(replies[10]!)
    await guarded.close()
  })
})

describe('an answer that is not in the envelope', () => {
  // Signed routes have separate tests (test/routes/forgeDeliveries.slow.test.ts), and so does OAuth (test/routes/connectedApps.test.ts).
  const raw = rows.filter(
    ({ route }) => (route.transfer === 'file' || route.transfer === 'raw') && !route.signed && !route.oauth,
  )
  test.each(raw.filter(({ name }) => !serverRows.includes(name)).map(row => [row.name, row] as const))(
    '%s has a promised status and content type',
    async (_, row) => {
      const fresh = await freshSeed(row)
      const ask = (headers: Record<string, string> = {}) =>
        send(row, exampleOf(row, fresh), { token: tokenFor(row, fresh), headers })
      const whole = await ask()
      expect(whole.status).toBe(200)
      promises.expectDocumented(row, whole)
      const [again, range, beyond] = [
        await ask({ 'if-none-match': whole.headers.get('etag') ?? '"none"' }),
        await ask({ range: 'bytes=0-0' }),
        await ask({ range: 'bytes=999999999-' }),
      ]
      const promised = (status: number) => Object.hasOwn(promises.operationOf(row).responses, status)
      expect([again.status, range.status, beyond.status]).toEqual([
        promised(304) ? 304 : 200,
        promised(206) ? 206 : 200,
        promised(416) ? 416 : 200,
      ])
      if (promised(206)) promises.expectDocumented(row, range)
    },
  )
})
