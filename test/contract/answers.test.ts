import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errors, type ErrorCode } from '../../src/contract/errors.ts'
import { events, type EventType } from '../../src/contract/server/events.ts'
import { paramsOf } from '../../src/contract/paths.ts'
import { externalPermissions, textParams, type Route } from '../../src/contract/route.ts'
import { handlers } from '../../daemon/routes/index.ts'
import { exampleOf, requestOf, rows, tokenFor, type Row } from '../support/contract/examples.ts'
import { onLibsqlServer, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { seedsOf } from '../support/contract/preparations.ts'
import { startSlotlessBoard } from '../support/contract/seed.ts'
import { expectCommonHeaders, expectFailure, expectOauthFailure, sendInput } from '../support/contract/responses.ts'

const ada = { email: 'ada@example.org', password: 'correct horse' }
/** Rows that cannot succeed on a board whose agents get no slot, on a shared database, or with a plain request. */
const refusals: Readonly<Record<string, ErrorCode>> = {
  'agents.relay': 'AGENT_NOT_RUNNING',
  'agents.approvePlan': 'NOTHING_TO_APPROVE',
  // The board has no slot.
  'agents.check': 'CONFLICT',
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
/** Rows that change the whole server, so that each uses a separate one. */
const changesTheServer = ['auth.setup', 'backups.restore']

/** Events that work in the background sends soon after a row's response, possibly before the next request of a fast machine. */
const toldLater: Readonly<Record<string, string>> = { 'scripts.cancel': 'script.finished' }

let board: TestBoard
let seeds: ReturnType<typeof seedsOf>
const started: TestBoard[] = []
const start = async () => started[started.push(await startSlotlessBoard()) - 1]!

beforeAll(async () => {
  board = await start()
  seeds = seedsOf(board)
  await board.as().auth.setup(ada)
})
afterAll(async () => {
  for (const each of started) {
    await each.close()
  }
})

/** A success in its envelope, without fields that the contract does not declare. */
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

  it('names each method and path once, and each path as in the specification', () => {
    const lines = rows.map(({ route }) => `${route.method} ${route.path}`)
    expect(lines.filter((line, at) => lines.indexOf(line) !== at)).toEqual([])
    expect(
      rows.filter(
        ({ route }) =>
          !/^\/(metrics|assets\/\{filename\}|docs(\/\{filename\})?|\.well-known(\/[a-z-]+)+|api(\/([a-z.-]+|\{\w+\}))+)?$/.test(
            route.path,
          ),
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

  it('describes each row in one sentence, and gives it a fitting status', () => {
    expect(
      rows
        .filter(({ route }) => !/^[A-Z].*[^.]$/.test(route.summary) || /\. /.test(route.summary))
        .map(({ name }) => name),
    ).toEqual([])
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

  it('declares events of each type, except those of background work or caused by other cards', () => {
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
          'inbox.updated',
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

  it('responds to its example as the contract specifies, and sends its events', async () => {
    const on = changesTheServer.includes(name) ? await start() : board
    const fresh = await (on === board ? seeds : seedsOf(on)).for(row)
    const input = exampleOf(row, fresh)
    if (name === 'projects.reorder') input.ids = (await on.client.projects.list()).map(({ id }) => id)
    const live = await follow(on.url, on.token, fresh.projectId)
    const token = name === 'auth.logout' ? (await on.as().auth.login(ada)).token : tokenFor(row, fresh)
    const reply = await sendInput(on, row, input, token)
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
})

describe('a path', () => {
  it('answers 405 with Allow to a method that it does not have', async () => {
    const { projectId } = await seeds.shared()
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

  it('answers 404 in the envelope if the contract does not have it', async () => {
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
        // There is a pull request only if a forge has created it.
        name !== 'pullRequests.get',
    )) {
      const { path } = requestOf(row.route, exampleOf(row, await seeds.shared()))
      const reply = await board.request('HEAD', path, { token: tokenFor(row, await seeds.shared()) })
      expect([row.name, reply.status, reply.text]).toEqual([row.name, 200, ''])
      expectCommonHeaders(reply)
    }
  })
})

/** Events of a deletion that subscribers receive only live, because the project is deleted with them. */
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
  return live.messages.filter(
    ({ seq, type }) => seq !== undefined && type !== 'notification' && type !== 'inbox.updated',
  )
}
