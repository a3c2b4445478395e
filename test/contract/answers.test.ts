import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errors, type ErrorCode } from '../../src/contract/errors.ts'
import { events, type EventType } from '../../src/contract/events.ts'
import { paramsOf } from '../../src/contract/paths.ts'
import {
  externalPermissions,
  keyPermissionsOf,
  permissions,
  textParams,
  type Permission,
  type Route,
} from '../../src/contract/route.ts'
import { isAboutServer } from '../../src/contract/keys.ts'
import { handlers } from '../../daemon/routes/index.ts'
import { exampleOf, requestOf, rows, sendsBody, tokenFor, type Row } from '../support/contract/examples.ts'
import { onLibsqlServer, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { preparations } from '../support/contract/preparations.ts'
import { seed, startSlotlessBoard, type Seed } from '../support/contract/seed.ts'
import { inFull } from '../support/run/sample.ts'

const ada = { email: 'ada@example.org', password: 'correct horse' }
/** Rows that a board whose agents get no slot, or a shared database, or a plain request, cannot answer with success. */
const refusals: Readonly<Record<string, ErrorCode>> = {
  'agents.relay': 'AGENT_NOT_RUNNING',
  'agents.approvePlan': 'NOTHING_TO_APPROVE',
  'issues.sync': 'FORGE_NOT_CONFIGURED',
  'auth.setPassword': 'INVALID_CREDENTIALS',
  'server.socket': 'NOT_FOUND',
  'credentials.initOauth': 'PROVIDER_UNAVAILABLE',
  'backups.upload': 'INVALID_BACKUP',
  ...(onLibsqlServer && { 'backups.restore': 'CONFLICT' }),
  'oidc.test': 'OIDC_NOT_CONFIGURED',
  'oidc.login': 'OIDC_NOT_CONFIGURED',
  'oidc.callback': 'OIDC_SIGN_IN_UNKNOWN',
  'reviews.changedFile': 'FILE_NOT_FOUND',
  'forges.deliver': 'UNAUTHENTICATED',
  'pullRequests.draft': 'FORGE_NOT_CONFIGURED',
  'pullRequests.create': 'FORGE_NOT_CONFIGURED',
  'pullRequests.merge': 'FORGE_NOT_CONFIGURED',
  'pullRequests.close': 'FORGE_NOT_CONFIGURED',
  'auth.redeemTicket': 'INVALID_CREDENTIALS',
  'oidc.exchange': 'INVALID_CREDENTIALS',
  'oauth.authorize': 'APP_UNKNOWN',
  'oauth.request': 'APP_REQUEST_ENDED',
  'oauth.approve': 'APP_REQUEST_ENDED',
  'oauth.refuse': 'APP_REQUEST_ENDED',
  'oauth.token': 'INVALID_CLIENT',
  'oauth.revoke': 'INVALID_CLIENT',
}
/** Rows that change the whole server, so that each has one of its own. */
const changesTheServer = ['auth.setup', 'backups.restore']

/** What work in the background tells soon after a row's answer, or before a quick machine's next question. */
const toldLater: Readonly<Record<string, string>> = { 'scripts.cancel': 'script.finished' }

let board: TestBoard
const started: TestBoard[] = []
const start = async () => started[started.push(await startSlotlessBoard()) - 1]!

beforeAll(async () => {
  board = await start()
  await board.as().auth.setup(ada)
})
afterAll(async () => {
  for (const each of started) {
    await each.close()
  }
})

const farAway = { 'x-forwarded-for': '203.0.113.7' }
const send = (
  row: Row,
  input: Record<string, unknown>,
  token: string | null,
  on = board,
  headers: Record<string, string> = {},
): Promise<Reply> => {
  const { path, options } = requestOf(row.route, input)
  return on.request(row.route.method, path, { token, ...options, headers: { ...options.headers, ...headers } })
}

function expectCommonHeaders({ headers }: Reply): void {
  expect(headers.get('x-request-id')).toMatch(/^[\w-]{3,}$/)
  expect(headers.get('x-content-type-options')).toBe('nosniff')
}

/** A failure in its envelope: a code of the table with its status, and a message that tells nothing of the server. */
function expectFailure(reply: Reply, ...codes: ErrorCode[]): void {
  expectCommonHeaders(reply)
  expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(Object.keys(reply.body), reply.text).toEqual(['error'])
  const { code, message, details = [], ...more } = reply.body.error
  expect(more).toEqual({})
  expect(errors).toHaveProperty(code)
  expect(reply.status, reply.text).toBe(errors[code as ErrorCode][0])
  if (code !== 'PROVIDER_UNAVAILABLE') expect(reply.status).toBeLessThan(500)
  expect(message).toMatch(/\S/)
  expect(reply.text).not.toMatch(/\bat \w+.*:\d+|SQLITE|SELECT |\/src\/|node_modules/)
  for (const detail of details)
    expect(detail).toEqual({ path: expect.any(String), message: expect.stringMatching(/\S/) })
  if (reply.status === 401)
    expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer(?: resource_metadata="http[^"]+")?$/)
  if (codes.length > 0) expect(codes, reply.text).toContain(code)
}

/** A failure in OAuth's words, on the rows of that standard. */
function expectOauthFailure(reply: Reply, ...codes: ErrorCode[]): void {
  expectCommonHeaders(reply)
  expect(reply.body, reply.text).toEqual({
    error: expect.stringMatching(/^[a-z_]+$/),
    error_description: expect.stringMatching(/\S/),
  })
  expect(reply.status).toBe(reply.status === 413 || reply.status === 415 ? reply.status : 400)
  if (codes.length > 0) expect(codes.map(code => code.toLowerCase())).toContain(reply.body.error)
}

/** A success in its envelope, and nothing in it that the contract does not declare. */
function expectSuccess({ route }: Row, reply: Reply): void {
  expect(reply.status, reply.text).toBe(route.status)
  expectCommonHeaders(reply)
  if (route.transfer === 'file' || route.transfer === 'raw')
    return expect(reply.headers.get('content-type')).toMatch(/^\w+\/[\w.+-]+/)
  if (!route.output) return expect(reply.text).toBe('')
  expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(Object.keys(reply.body)).toEqual(['data'])
  expect(v.parse(route.output, reply.body.data)).toEqual(reply.body.data)
  if (typeof reply.body.data.version === 'number' && route.path !== '/api/health')
    expect(reply.headers.get('etag')).toBe(`"${reply.body.data.version}"`)
}

describe('the table', () => {
  const fields = ({ input }: Route): string[] =>
    input && 'entries' in input ? Object.keys(input.entries as object) : []

  it('names each method and path once, and each path as the specification writes it', () => {
    const lines = rows.map(({ route }) => `${route.method} ${route.path}`)
    expect(lines.filter((line, at) => lines.indexOf(line) !== at)).toEqual([])
    expect(
      rows.filter(
        ({ route }) =>
          !/^\/(metrics|assets\/\{filename\}|\.well-known(\/[a-z-]+)+|api(\/([a-z.-]+|\{\w+\}))+)?$/.test(route.path),
      ),
    ).toEqual([])
  })

  it('has a handler for each row, and no handler without a row', () => {
    const present = Object.entries(handlers(board.server.app, [])).flatMap(([resource, all]) =>
      Object.entries(all).map(([name, handler]) => [`${resource}.${name}`, typeof handler]),
    )
    expect(present.sort()).toEqual(rows.map(({ name }) => [name, 'function']).sort())
  })

  it('declares every parameter of a path: ids of rows, or text', () => {
    for (const { name, route } of rows) {
      const params = paramsOf(route.path)
      expect(new Set(params).size, name).toBe(params.length)
      expect(
        params.filter(param => !/^(id|[a-z]+Id)$/.test(param) && !(textParams as readonly string[]).includes(param)),
        name,
      ).toEqual([])
      expect(
        params.filter(param => fields(route).includes(param)),
        name,
      ).toEqual([])
      if (route.who.kind === 'member')
        expect([...params, ...fields(route)], name).toContain(
          route.who.through === 'flatCard' ? 'id' : route.who.through,
        )
    }
  })

  it('says of each row in a sentence what it does, and gives it a fitting status', () => {
    expect(rows.filter(({ route }) => !/^[A-Z].*[^.]$/.test(route.summary)).map(({ name }) => name)).toEqual([])
    expect(
      rows
        .filter(({ route }) => (route.status === 204) === (route.output !== undefined || route.transfer !== undefined))
        .map(({ name }) => name),
    ).toEqual([])
    expect(
      rows.filter(({ route }) => route.method === 'DELETE' && route.status !== 204).map(({ name }) => name),
    ).toEqual([])
    expect(
      rows
        .filter(({ name, route }) => /\.(create|register|setup)$/.test(name) && route.status !== 201)
        .map(({ name }) => name),
    ).toEqual([])
  })

  it("opens external routes to API keys alone, with the specification's permissions", () => {
    expect(
      rows.filter(({ route }) => (route.integerIds ?? false) !== (route.who.kind === 'key')).map(({ name }) => name),
    ).toEqual([])
    const named = rows.flatMap(({ route }) => (route.who.kind === 'key' ? route.who.permissions : []))
    expect([...new Set(named)].sort()).toEqual([...externalPermissions].sort())
  })

  it('gives each error code a status of the 4xx or 5xx and a sentence', () => {
    for (const [code, [status, message]] of Object.entries(errors))
      expect([code, status, message]).toEqual([
        expect.stringMatching(/^[A-Z_]+$/),
        expect.toSatisfy((it: number) => it >= 400 && it < 600),
        expect.stringMatching(/^\w.*\.$/),
      ])
  })

  it('tells by events of each type that it declares, save those that work in the background or other cards tell', () => {
    const told = new Set<string>(
      rows
        .flatMap(({ route }) => route.emits ?? [])
        .concat(
          'card.ready',
          'agent.tool',
          'agent.plan',
          'agent.permission',
          'agent.usage',
          'monitor.updated',
          'notification',
          'review.answered',
          'budget.warned',
          'budget.exhausted',
        ),
    )
    expect([...told].sort()).toEqual(Object.keys(events).sort())
  })
})

describe.each(rows)('$name', row => {
  const { name, route } = row

  it('answers its example as the contract says, and tells of it', async () => {
    const on = changesTheServer.includes(name) ? await start() : board
    const fresh = await seedFor(row, on)
    const input = exampleOf(row, fresh)
    if (name === 'projects.reorder') input.ids = (await on.client.projects.list()).map(({ id }) => id)
    const live = await follow(on.url, on.token, fresh.projectId)
    const reply = await send(
      row,
      input,
      name === 'auth.logout' ? (await on.as().auth.login(ada)).token : tokenFor(row, fresh),
      on,
    )
    if (refusals[name]) (route.oauth ? expectOauthFailure : expectFailure)(reply, refusals[name])
    else expectSuccess(row, reply)
    const told: ToldEvent[] =
      heardLiveOnly[name] !== undefined
        ? [await live.message(heardLiveOnly[name])]
        : await eventsSince(
            on,
            name === 'projects.create' ? reply.body.data.id : fresh.projectId,
            (await live.message('subscribed')).data.seq,
          )
    expect([...new Set(told.map(({ type }) => type))].filter(type => type !== toldLater[name]).sort()).toEqual(
      refusals[name]
        ? []
        : [...(route.emits ?? [])].filter(type => name !== 'transfers.import' || type !== 'project.created').sort(),
    )
    for (const { type, data } of told) expect(v.parse(events[type].data, data)).toEqual(data)
    live.close()
  })

  if (!inFull) return

  if (route.who.kind !== 'public')
    it(`asks for a token${route.who.kind === 'local' ? ' beyond this machine' : ''}`, async () => {
      const input = exampleOf(row, await sharedSeed())
      for (const token of [
        null,
        'svc_st_nonsense',
        `${board.token.slice(0, -1)}${board.token.endsWith('a') ? 'b' : 'a'}`,
      ])
        expectFailure(
          await send(row, input, token, board, route.who.kind === 'local' ? farAway : {}),
          'UNAUTHENTICATED',
        )
      if (route.who.kind === 'key') expectFailure(await send(row, input, board.token), 'UNAUTHENTICATED')
    })

  // Whom it lets in, authorization.test.ts says.
  if (route.who.kind !== 'public' && route.who.kind !== 'token')
    it('refuses an API key without the permission that it names', async () => {
      const allowed = keyPermissionsOf(route.who)
      const others = permissions.filter(permission => !allowed.includes(permission))
      expectFailure(
        await send(
          row,
          exampleOf(row, await sharedSeed()),
          await newKey(await sharedSeed(), others),
          board,
          route.who.kind === 'local' ? farAway : {},
        ),
        route.who.kind === 'agent' ? 'AGENT_TOKEN_REQUIRED' : 'INSUFFICIENT_PERMISSIONS',
      )
    })

  it('refuses nothing and nonsense in the error envelope', async () => {
    // What asks for a body that nothing and nonsense are not changes nothing.
    const changesNothing =
      changesTheServer.includes(name) || (sendsBody(route) && route.input && !v.safeParse(route.input, {}).success)
    const fresh = await (changesNothing ? sharedSeed() : seedFor(row))
    const params = paramsOf(route.path)
    const { path } = requestOf(route, exampleOf(row, fresh))
    const token = tokenFor(row, fresh)
    for (const param of params)
      for (const id of ['0', '-1', '01', 'x', '1.5', '1e3', '99999999999999999999', ' 1', '%00', '1%2f2']) {
        const wrong = route.path.replace(/\{(\w+)\}/g, (_, each: string) =>
          each === param ? id : encodeURIComponent(String(exampleOf(row, fresh)[each])),
        )
        const reply = await board.request(route.method, wrong, {
          token,
          ...(sendsBody(route) && route.input && { body: {} }),
        })
        if (route.integerIds) expectFailure(reply, 'INVALID_ID')
        else expect([reply.status, expectFailure(reply)], wrong).toEqual([404, undefined])
      }
    const bare = path.split('?')[0]!
    const replies = [
      await board.request(route.method, bare, { token }),
      await board.request(route.method, `${bare}?nonsense=1&limit=x`, { token }),
    ]
    if (sendsBody(route))
      for (const raw of ['"nonsense"', '[]', 'null', '42', '{"nonsense":true}', '{'])
        replies.push(await board.request(route.method, bare, { token, raw }))
    for (const reply of replies)
      if (reply.status >= 300) (route.oauth ? expectOauthFailure : expectFailure)(reply)
      else expectCommonHeaders(reply)
    const refused = sendsBody(route) && route.input && !route.oauth ? replies.slice(2) : []
    expect(
      refused.filter(
        ({ status, body }) =>
          status !== 400 ||
          !(
            ['VALIDATION_FAILED', 'INVALID_JSON'].includes(body.error.code) ||
            (route.checkedBy === 'rules' && body.error.details)
          ),
      ),
    ).toEqual([])
  })
})

describe('a path', () => {
  it('answers 405 with Allow to a method that it does not have', async () => {
    const { projectId } = await sharedSeed()
    for (const path of new Set(rows.map(({ route }) => route.path))) {
      const allowed = rows.filter(({ route }) => route.path === path).map(({ route }) => route.method as string)
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'].filter(
        each => !allowed.includes(each),
      )) {
        const reply = await board.request(method, path.replace(/\{\w+\}/g, projectId), {
          raw: ['GET', 'DELETE'].includes(method) ? undefined : '{',
        })
        expectFailure(reply, 'METHOD_NOT_ALLOWED')
        expect(reply.headers.get('allow')?.split(', ')).toEqual(expect.arrayContaining(allowed))
      }
    }
  })

  it('answers 404 in the envelope when the contract does not have it', async () => {
    for (const path of [
      '/nothing',
      '/api',
      '/api/',
      '/api/nothing',
      '//api/health',
      '/api//health',
      '/API/health',
      '/api/health/x',
      '/api/external/projects',
      '/api/%70rojectz',
      '/api/projects/1/cards/1/nothing',
      '/api/../etc/passwd',
      '/.env',
      '/__proto__',
      '/api/constructor',
    ])
      for (const method of ['GET', 'POST', 'DELETE']) expectFailure(await board.request(method, path), 'NOT_FOUND')
  })

  it('answers HEAD like GET, without the body', async () => {
    for (const row of rows.filter(
      ({ name, route }) =>
        route.method === 'GET' &&
        route.transfer !== 'file' &&
        route.transfer !== 'raw' &&
        !Object.hasOwn(refusals, name) &&
        // There is one only where a forge has made it.
        name !== 'pullRequests.get',
    )) {
      const { path } = requestOf(row.route, exampleOf(row, await sharedSeed()))
      const reply = await board.request('HEAD', path, { token: tokenFor(row, await sharedSeed()) })
      expect([row.name, reply.status, reply.text]).toEqual([row.name, 200, ''])
      expectCommonHeaders(reply)
    }
  })
})

let shared: Promise<Seed> | undefined
/** For requests that change nothing. */
const sharedSeed = (): Promise<Seed> => (shared ??= seed(board))
const seedFor = async ({ name, route }: Row, on = board): Promise<Seed> => {
  const fresh =
    on === board && (route.method === 'GET' || paramsOf(route.path).length === 0)
      ? { ...(await sharedSeed()) }
      : await seed(on)
  await preparations[name]?.(on, fresh)
  return fresh
}

/** A key of the project, or of the server where a permission is about it. */
const newKey = async ({ projectId }: Seed, allowed: readonly Permission[]): Promise<string> =>
  (
    await board.client.keys.create({
      name: 'Some',
      permissions: [...allowed],
      ...(allowed.some(isAboutServer) ? { scope: 'server' } : { scope: 'project', projectId }),
    })
  ).key

/** What is told of something that is gone with it is not told afterwards. */
const heardLiveOnly: Record<string, EventType> = {
  'projects.delete': 'project.deleted',
  'scripts.delete': 'script.finished',
}

interface ToldEvent {
  type: EventType
  data: unknown
}
/** Every event of a project after a seq. */
async function eventsSince(on: TestBoard, projectId: string, since: number): Promise<ToldEvent[]> {
  const live = await follow(on.url, on.token, projectId, since)
  live.close()
  return live.messages.filter(({ seq, type }) => seq !== undefined && type !== 'notification')
}
