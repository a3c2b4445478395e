import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mintAgentToken } from '../../src/identity/agentTokens.ts'
import { makeRepository } from '../support/agents/agentBoard.ts'
import type { TestCard } from '../support/agents/agentRows.ts'
import type { Reply } from '../support/servers/testBoard.ts'
import { startMonitorBoard, type ActiveCard, type MonitorBoard } from '../monitors/monitorBoard.ts'

let board: MonitorBoard
beforeAll(async () => {
  board = await startMonitorBoard()
})
afterAll(() => board.close())

const good = { command: 'true', intervalSecs: 60, allowUnsandboxed: true }
const pathOf = ({ projectId, cardId }: TestCard) => `/api/projects/${projectId}/cards/${cardId}/monitors`
const post = (card: ActiveCard, body: unknown, more: object = {}) =>
  board.request('POST', pathOf(card), { token: card.token, body, ...more })
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
/** An agent token of any card, like that of a session. */
const tokenOf = (cardId: string): Promise<string> =>
  board.server.app.db.transaction(async tx => (await mintAgentToken(tx, { cardId: Number(cardId), ttlSecs: 60 })).token)
const withToken = async (card: TestCard): Promise<ActiveCard> => ({
  ...card,
  ref: card,
  token: await tokenOf(card.cardId),
})
const plainCard = async (input: object): Promise<TestCard> => ({
  projectId: board.projectId,
  cardId: (await board.client.cards.create({ projectId: board.projectId, title: 'Other', deferred: true, ...input }))
    .id,
})

describe('a monitor', () => {
  it("is created with its fields, and listed with the card's other monitors in the order of their creation", async () => {
    const card = await board.newCard()
    const reply = await post(card, { ...good, command: 'sleep 30', description: 'Sleeps', cwd: board.path })
    expect(reply.status, reply.text).toBe(201)
    expect(reply.body.data).toEqual({
      id: expect.stringMatching(/^\d+$/),
      cardId: card.cardId,
      command: 'sleep 30',
      intervalSecs: 60,
      description: 'Sleeps',
      cwd: board.path,
      allowUnsandboxed: true,
      status: 'pending',
      requestId: null,
      exitCode: null,
      error: null,
      output: '',
      lastStartedAt: null,
      lastFinishedAt: null,
      nextRunAt: reply.body.data.createdAt,
      consecutiveFailures: 0,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: reply.body.data.createdAt,
    })
    const second = await post(card, good)
    expect(second.body.data).toMatchObject({ description: null, cwd: board.path })
    const listed = await board.as(card.token).monitors.list(card.ref)
    expect(listed.map(({ id }) => id)).toEqual([reply.body.data.id, second.body.data.id])
    await board.newCard()
    expect(await board.as(card.token).monitors.list(card.ref)).toHaveLength(2)
    expect((await board.client.monitors.listProject({ projectId: board.projectId })).map(({ id }) => id)).toEqual(
      expect.arrayContaining(listed.map(({ id }) => id)),
    )
  })

  it('accepts the limits of its fields, and null for optional fields', async () => {
    const card = await board.newCard()
    for (const fields of [
      { intervalSecs: 10 },
      { intervalSecs: 86_400 },
      { command: `: ${'x'.repeat(4094)}` },
      { description: 'x'.repeat(500) },
      { description: '' },
      { description: null, cwd: null },
    ])
      expect(codeOf(await post(card, { ...good, ...fields })), JSON.stringify(fields).slice(0, 80)).toEqual([
        201,
        undefined,
      ])
  })

  it("works in the card's worktree without a cwd", async () => {
    const path = makeRepository(join(board.folder('git'), 'repository'))
    const worktree = `${path}-own`
    execFileSync('git', ['-C', path, 'worktree', 'add', '-b', 'own', worktree], { stdio: 'ignore' })
    const { id: projectId } = await board.client.projects.create({ name: 'Git', path })
    const card = await board.newCard(projectId)
    expect((await post(card, good)).body.data.cwd).toBe(path)
    await board.client.cards.attachWorktree({ ...card.ref, path: worktree })
    expect((await post(card, good)).body.data.cwd).toBe(worktree)
    expect(codeOf(await post(card, { ...good, cwd: worktree }))).toEqual([201, undefined])
    expect(codeOf(await post(card, { ...good, cwd: path }))).toEqual([201, undefined])
    await board.client.cards.detachWorktree(card.ref)
    expect(codeOf(await post(card, { ...good, cwd: worktree }))).toEqual([400, 'MONITOR_CWD_OUTSIDE_CARD'])
  })

  it('is created once for one Idempotency-Key', async () => {
    const card = await board.newCard()
    const headers = { 'idempotency-key': `once-${card.cardId}` }
    const [first, again] = [await post(card, good, { headers }), await post(card, good, { headers })]
    expect(again.body.data.id).toBe(first.body.data.id)
    expect(codeOf(await post(card, { ...good, command: 'false' }, { headers }))).toEqual([
      409,
      'IDEMPOTENCY_KEY_REUSED',
    ])
    expect(await board.as(card.token).monitors.list(card.ref)).toHaveLength(1)
  })

  it('is deleted once', async () => {
    const card = await board.newCard()
    const { id } = await board.create(card, 'true')
    const reply = await board.request('DELETE', `${pathOf(card)}/${id}`, { token: card.token })
    expect([reply.status, reply.text]).toEqual([204, ''])
    expect(codeOf(await board.request('DELETE', `${pathOf(card)}/${id}`, { token: card.token }))).toEqual([
      404,
      'MONITOR_NOT_FOUND',
    ])
  })

  it('of another card or project is not found: MONITOR_NOT_FOUND', async () => {
    const [card, other, { projectId }] = [await board.newCard(), await board.newCard(), await board.newProject()]
    const { id } = await board.create(other, 'true')
    expect(codeOf(await board.request('DELETE', `${pathOf(card)}/${id}`, { token: card.token }))).toEqual([
      404,
      'MONITOR_NOT_FOUND',
    ])
    expect(codeOf(await board.request('DELETE', `/api/projects/${projectId}/monitors/${id}`))).toEqual([
      404,
      'MONITOR_NOT_FOUND',
    ])
    for (const wrong of ['999999', '0', '-1', 'x'])
      expect(codeOf(await board.request('DELETE', `${pathOf(card)}/${wrong}`, { token: card.token }))).toEqual([
        404,
        'MONITOR_NOT_FOUND',
      ])
    expect(codeOf(await board.request('DELETE', `/api/projects/${board.projectId}/monitors/${id}`))).toEqual([
      204,
      undefined,
    ])
  })

  it('is hidden with its deleted card, and restored with it', async () => {
    const card = await board.newCard()
    const { id } = await board.create(card, 'true')
    const listed = async () =>
      (await board.client.monitors.listProject({ projectId: card.projectId })).some(monitor => monitor.id === id)
    await board.client.cards.delete(card.ref)
    expect(await listed()).toBe(false)
    expect(codeOf(await board.request('DELETE', `/api/projects/${board.projectId}/monitors/${id}`))).toEqual([
      404,
      'MONITOR_NOT_FOUND',
    ])
    await board.client.cards.restore(card.ref)
    expect(await listed()).toBe(true)
  })
})

describe("the routes of a card's monitors", () => {
  it('accept an agent token of that card, and no other credential: AGENT_TOKEN_REQUIRED', async () => {
    const [card, other] = [await board.newCard(), await board.newCard()]
    const { projectId } = await board.newProject()
    const { id } = await board.create(card, 'true')
    const { key } = await board.client.keys.create({
      name: 'k',
      scope: 'server',
      permissions: ['monitors.read', 'agents.run', 'cards.update'],
    })
    const requests = (at: TestCard, token: string | null) => [
      board.request('POST', pathOf(at), { token, body: good }),
      board.request('GET', pathOf(at), { token }),
      board.request('DELETE', `${pathOf(at)}/${id}`, { token }),
    ]
    for (const token of [board.token, key, other.token])
      for (const reply of await Promise.all(requests(card, token)))
        expect(codeOf(reply)).toEqual([403, 'AGENT_TOKEN_REQUIRED'])
    for (const reply of await Promise.all(requests({ ...card.ref, projectId }, card.token)))
      expect(codeOf(reply)).toEqual([403, 'AGENT_TOKEN_REQUIRED'])
    for (const token of [null, 'svc_at_nonsense'])
      for (const reply of await Promise.all(requests(card, token)))
        expect(codeOf(reply)).toEqual([401, 'UNAUTHENTICATED'])
    expect(await board.as(card.token).monitors.list(card.ref)).toHaveLength(1)
  })

  it('reject the token when its card leaves active execution', async () => {
    const card = await board.newCard()
    await board.client.cards.move({ ...card.ref, columnId: board.columns.done })
    expect(codeOf(await post(card, good))).toEqual([401, 'UNAUTHENTICATED'])
  })
})

describe('the checks of a new monitor come in this order', () => {
  const outside = tmpdir()
  /** Each input also violates all later checks. */
  const wrong = {
    allowUnsandboxed: false,
    command: '',
    intervalSecs: 9,
    description: 7,
    cwd: 'relative',
    nonsense: true,
  }
  const steps: Array<[string, string, object, number?]> = [
    ['the permission to run unsandboxed', 'MONITOR_UNSANDBOXED_ACK_REQUIRED', wrong],
    ['the command', 'MONITOR_COMMAND_INVALID', { ...wrong, allowUnsandboxed: true }],
    ['the interval', 'MONITOR_INTERVAL_INVALID', { ...wrong, allowUnsandboxed: true, command: 'true' }],
    [
      'the description',
      'MONITOR_DESCRIPTION_INVALID',
      { ...wrong, allowUnsandboxed: true, command: 'true', intervalSecs: 10 },
    ],
    [
      'the folder',
      'MONITOR_CWD_INVALID',
      { ...wrong, allowUnsandboxed: true, command: 'true', intervalSecs: 10, description: null },
    ],
    [
      'where the folder is',
      'MONITOR_CWD_OUTSIDE_CARD',
      { ...wrong, allowUnsandboxed: true, command: 'true', intervalSecs: 10, description: null, cwd: outside },
    ],
    [
      'unknown fields',
      'VALIDATION_FAILED',
      { ...wrong, allowUnsandboxed: true, command: 'true', intervalSecs: 10, description: null, cwd: null },
    ],
    ['how many the card has', 'MONITOR_LIMIT_REACHED', good, 409],
  ]
  let full: ActiveCard
  beforeAll(async () => {
    full = await board.newCard()
    for (let count = 0; count < 8; count++) await board.create(full, 'true')
  })

  it.each(steps)('%s: %s', async (_, code, body, status = 400) => {
    expect(codeOf(await post(full, body))).toEqual([status, code])
  })

  it('the token before everything', async () => {
    expect(codeOf(await post({ ...full, token: board.token }, wrong))).toEqual([403, 'AGENT_TOKEN_REQUIRED'])
    expect(codeOf(await board.request('POST', pathOf(full), { token: null, body: wrong }))).toEqual([
      401,
      'UNAUTHENTICATED',
    ])
  })

  it('the card before its kind and state: CARD_NOT_FOUND', async () => {
    const card = await board.newCard()
    await board.client.cards.delete(card.ref)
    // A token of a deleted card is invalid.
    expect(codeOf(await post(await withToken(card), wrong))).toEqual([401, 'UNAUTHENTICATED'])
    expect(
      codeOf(
        await board.request('POST', `/api/projects/${card.projectId}/cards/0/monitors`, {
          token: full.token,
          body: wrong,
        }),
      ),
    ).toEqual([404, 'CARD_NOT_FOUND'])
  })

  it('a terminal card before an inactive one: MONITOR_TERMINAL_CARD_UNSUPPORTED', async () => {
    const terminal = { kind: 'terminal', command: 'true' }
    for (const input of [terminal, { ...terminal, columnId: board.columns.active }])
      expect(codeOf(await post(await withToken(await plainCard(input)), wrong))).toEqual([
        409,
        'MONITOR_TERMINAL_CARD_UNSUPPORTED',
      ])
  })

  it('an inactive card before the fields: MONITOR_CARD_INACTIVE', async () => {
    const archived = await board.newCard()
    await board.client.cards.archive(archived.ref)
    for (const card of [await plainCard({}), await plainCard({ columnId: board.columns.done }), archived])
      expect(codeOf(await post(await withToken(card), wrong))).toEqual([409, 'MONITOR_CARD_INACTIVE'])
  })

  it('a body that is not an object, first: VALIDATION_FAILED', async () => {
    for (const raw of ['[]', '"x"', '1', 'null', `{"command":${'['.repeat(50)}${']'.repeat(50)}}`])
      expect(codeOf(await board.request('POST', pathOf(full), { token: full.token, raw }))).toEqual([
        400,
        'VALIDATION_FAILED',
      ])
    expect(codeOf(await board.request('POST', pathOf(full), { token: full.token, raw: '{' }))).toEqual([
      400,
      'INVALID_JSON',
    ])
  })
})

describe('each field has its own error', () => {
  let card: ActiveCard
  beforeAll(async () => {
    card = await board.newCard()
  })
  const cases: Record<string, [field: string, values: unknown[]]> = {
    MONITOR_UNSANDBOXED_ACK_REQUIRED: ['allowUnsandboxed', [undefined, null, false, 'true', 1, {}, []]],
    MONITOR_COMMAND_INVALID: [
      'command',
      [undefined, null, '', ' \n', 7, {}, ['true'], 'x'.repeat(4097), 'a\0b', '\ud800'],
    ],
    MONITOR_INTERVAL_INVALID: ['intervalSecs', [undefined, null, 9, 0, -10, 86_401, 10.5, '60', 1e300, {}, true]],
    MONITOR_DESCRIPTION_INVALID: ['description', [7, {}, [], true, 'x'.repeat(501), 'a\0b', 'x\udc00']],
    MONITOR_CWD_INVALID: [
      'cwd',
      [7, {}, true, '', '.', 'relative', '~', '/nonexistent/folder', 'a\0b', '/\0', `/${'x'.repeat(10_000)}`, '\ud800'],
    ],
  }
  it.each(Object.entries(cases))('%s', async (code, [field, values]) => {
    for (const value of values) {
      const reply = await post(card, { ...good, [field]: value })
      expect([String(value).slice(0, 40), ...codeOf(reply)]).toEqual([String(value).slice(0, 40), 400, code])
      expect(reply.body.error.details).toEqual([{ path: field, message: expect.stringMatching(/\S/) }])
    }
    expect(await board.as(card.token).monitors.list(card.ref)).toEqual([])
  })

  it('MONITOR_CWD_INVALID for a path that is not a folder', async () => {
    const file = join(board.path, 'file')
    writeFileSync(file, '')
    expect(codeOf(await post(card, { ...good, cwd: file }))).toEqual([400, 'MONITOR_CWD_INVALID'])
  })

  it("MONITOR_CWD_OUTSIDE_CARD for a path that leaves the card's folders after resolving links", async () => {
    const [inside, link, beside] = [join(board.path, 'inside'), join(board.path, 'link'), `${board.path}-beside`]
    for (const folder of [inside, join(board.path, '..hidden'), beside]) mkdirSync(folder)
    symlinkSync(tmpdir(), link)
    symlinkSync(inside, join(beside, 'way-in'))
    for (const cwd of ['/', tmpdir(), join(board.path, '..'), `${board.path}/inside/../..`, link, `${link}/`, beside])
      expect([cwd, ...codeOf(await post(card, { ...good, cwd }))]).toEqual([cwd, 400, 'MONITOR_CWD_OUTSIDE_CARD'])
    for (const cwd of [
      inside,
      `${inside}/`,
      `${board.path}/inside/../inside`,
      join(beside, 'way-in'),
      join(board.path, '..hidden'),
    ])
      expect([cwd, ...codeOf(await post(card, { ...good, cwd }))]).toEqual([cwd, 201, undefined])
  })

  it('VALIDATION_FAILED names unknown fields', async () => {
    const reply = await post(card, { ...good, comand: 'x', every: 1 })
    expect(codeOf(reply)).toEqual([400, 'VALIDATION_FAILED'])
    expect(reply.body.error.details).toEqual([
      { path: 'comand', message: 'is not a known field' },
      { path: 'every', message: 'is not a known field' },
    ])
    expect(codeOf(await post(card, { ...good, cardId: '1' }))).toEqual([400, 'VALIDATION_FAILED'])
  })
})

it('a card never has more than eight monitors, for any number of concurrent requests', async () => {
  const card = await board.newCard()
  const replies = await Promise.all(Array.from({ length: 20 }, () => post(card, good)))
  expect(replies.filter(({ status }) => status === 201)).toHaveLength(8)
  expect(replies.filter(({ body }) => body?.error?.code === 'MONITOR_LIMIT_REACHED')).toHaveLength(12)
  const { id } = (await board.as(card.token).monitors.list(card.ref))[0]!
  await board.as(card.token).monitors.delete({ ...card.ref, monitorId: id })
  expect(codeOf(await post(card, good))).toEqual([201, undefined])
})
