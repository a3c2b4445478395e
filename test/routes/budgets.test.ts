import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertUsage, type NewUsage } from '../../src/store/agents/usage.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let projectId: string
let cardId: string
let nowMs = Date.parse('2026-03-31T22:00:00.000Z')
beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(nowMs) })
  await board.client.auth.setup({ email: 'ada@example.org', password: 'a long password', displayName: 'Ada' })
  projectId = (await board.client.projects.create({ name: 'Shop', path: board.folder('shop') })).id
  cardId = (await board.client.cards.create({ projectId, title: '=HYPERLINK("x")' })).id
})
afterAll(() => board.close())

/** Books usage of an agent. */
const book = (day: string, more: Partial<NewUsage> = {}) =>
  board.server.app.db.transaction(tx =>
    insertUsage(tx, {
      day,
      sessionId: 1,
      cardId: Number(cardId),
      projectId: Number(projectId),
      agent: 'claude',
      runs: 1,
      costUsd: 1,
      inputTokens: 10,
      outputTokens: 1,
      runningMs: 1_800_000,
      ...more,
    }),
  )
const create = (body: object, token = board.token) => board.request('POST', '/api/budgets', { token, body })
const budget = (more: object = {}) => ({
  scope: 'project',
  scopeId: projectId,
  unit: 'usd',
  limit: 10,
  period: 'month',
  ...more,
})
const list = (query: object = {}) => board.client.budgets.list(query)

test('usage before the creation of a budget counts from the start of its period, by days of UTC', async () => {
  for (const day of ['2026-02-28', '2026-03-01', '2026-03-31']) await book(day)
  const spent = async (more: object) => (await create(budget(more))).body.data
  expect(await spent({ limit: 2.5 })).toMatchObject({
    scope: 'project',
    scopeId: projectId,
    scopeName: 'Shop',
    projectId,
    spent: 2,
    state: 'warned',
    unknownRuns: 0,
    resetsAt: '2026-04-01T00:00:00.000Z',
  })
  expect(await spent({ period: 'day', limit: 1 })).toMatchObject({ spent: 1, state: 'exhausted' })
  expect(await spent({ period: 'total' })).toMatchObject({ spent: 3, state: 'ok', resetsAt: null })
  expect(await spent({ unit: 'tokens', limit: 100 })).toMatchObject({ spent: 22 })
  expect(await spent({ unit: 'runs', limit: 100 })).toMatchObject({ spent: 2 })
  expect(await spent({ unit: 'hours', limit: 1.25 })).toMatchObject({ spent: 1, state: 'warned' })
  expect(await spent({ scope: 'card', scopeId: cardId })).toMatchObject({ spent: 2, scopeName: '=HYPERLINK("x")' })
  nowMs += 3 * 3_600_000
  expect((await list({ projectId })).map(({ spent }) => spent)).toEqual([0, 0, 3, 0, 0, 0, 0])
  expect((await list({ cardId })).map(({ resetsAt }) => resetsAt)).toEqual(['2026-05-01T00:00:00.000Z'])
})

test('one budget per unit and period; a limit must suit its unit', async () => {
  const [first] = await list({ projectId })
  const message = `Budget ${first!.id} already has this unit and period: $0.00 of $${first!.limit.toFixed(2)} this month. Change that budget.`
  expect(await create(budget())).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT', message } } })
  const refused = async (more: object, path: string) => {
    const { status, body } = await create(budget(more))
    expect([status, body.error.details[0].path]).toEqual([400, path])
  }
  await refused({ limit: 0 }, 'limit')
  await refused({ limit: -1 }, 'limit')
  await refused({ limit: 1e13 }, 'limit')
  await refused({ unit: 'tokens', limit: 1.5 }, 'limit')
  await refused({ unit: 'eur' }, 'unit')
  await refused({ period: 'week' }, 'period')
  await refused({ scope: 'planet' }, 'scope')
  await refused({ scopeId: 'x' }, 'scopeId')
  await expect(board.client.budgets.update({ id: first!.id, period: 'day' })).rejects.toMatchObject({
    code: 'CONFLICT',
  })
  const runs = (await list({ projectId })).find(({ unit }) => unit === 'runs')!
  await expect(board.client.budgets.update({ id: runs.id, limit: 0.5 })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  })
  expect(await board.client.budgets.update({ id: runs.id, limit: 7 })).toMatchObject({ limit: 7, period: 'month' })
  await board.client.budgets.delete({ id: runs.id })
  expect((await list({ projectId })).some(({ id }) => id === runs.id)).toBe(false)
})

test('a budget of a card and a project requires its admins, one of an organization its admins, one of a credential its owner', async () => {
  const person = async (name: string) => {
    const { token } = await registerConfirmed(board, { email: `${name}@example.org`, password: 'a long password' })
    return { token, client: board.as(token), email: `${name}@example.org` }
  }
  const [grace, alan] = [await person('grace'), await person('alan')]
  await board.client.members.add({ id: projectId, email: grace.email, role: 'member' })
  expect(await create(budget({ unit: 'runs' }), grace.token)).toMatchObject({ status: 403 })
  expect(await create(budget({ unit: 'runs' }), alan.token)).toMatchObject({
    status: 404,
    body: { error: { code: 'PROJECT_NOT_FOUND' } },
  })
  const { id: organizationId } = await grace.client.organizations.create({ name: 'Crew' })
  await grace.client.organizations.addMember({ id: organizationId, email: alan.email, role: 'member' })
  const ofCrew = budget({ scope: 'organization', scopeId: organizationId })
  expect(await create(ofCrew, alan.token)).toMatchObject({ status: 403 })
  const { id } = (await create(ofCrew, grace.token)).body.data
  expect((await alan.client.budgets.list({})).map(each => each.id)).toEqual([id])
  const { id: credentialId } = await alan.client.credentials.create({
    name: 'Mine',
    provider: 'anthropic',
    apiKey: 'sk-0123456789',
  })
  const ofCredential = budget({ scope: 'credential', scopeId: credentialId })
  expect(await create(ofCredential, board.token)).toMatchObject({ status: 404 })
  const own = (await create(ofCredential, alan.token)).body.data
  for (const { client } of [grace, board])
    await expect(client.budgets.update({ id: own.id, limit: 1 })).rejects.toMatchObject({ code: 'BUDGET_NOT_FOUND' })
  await alan.client.budgets.delete({ id: own.id })
  const actions = (await board.client.audit.list({ action: 'budgets' })).items.map(({ action }) => action)
  expect(actions).toEqual(expect.arrayContaining(['budgets.create', 'budgets.update', 'budgets.delete']))
})

test('usage by group, for a period, and as CSV that no spreadsheet evaluates', async () => {
  await book('2026-03-02', {
    costUsd: 0,
    costUnknown: 1,
    tokensUnknown: 1,
    inputTokens: 0,
    outputTokens: 0,
    agent: '-x',
  })
  const usage = (query: object) => board.client.usage.list({ groupBy: 'day', ...query })
  expect((await usage({})).map(({ key, costUsd, unknownRuns }) => [key, costUsd, unknownRuns])).toEqual([
    ['2026-02-28', 1, 0],
    ['2026-03-01', 1, 0],
    ['2026-03-02', null, 1],
    ['2026-03-31', 1, 0],
  ])
  expect((await usage({ from: '2026-03-01', to: '2026-03-02' })).map(({ key }) => key)).toEqual([
    '2026-03-01',
    '2026-03-02',
  ])
  const [row] = await usage({ groupBy: 'project' })
  expect(row).toEqual({
    key: projectId,
    name: 'Shop',
    runs: 4,
    unknownRuns: 1,
    inputTokens: 30,
    outputTokens: 3,
    costUsd: 3,
    estimatedUsd: 0,
    hours: 2,
  })
  const csv = async (groupBy: string) => {
    const { headers, text } = await board.request('GET', `/api/usage?groupBy=${groupBy}`, {
      headers: { accept: 'text/csv' },
    })
    expect(headers.get('content-type')).toMatch(/^text\/csv/)
    return text.split('\r\n')
  }
  expect(await csv('card')).toEqual([
    'key,name,runs,unknownRuns,inputTokens,outputTokens,costUsd,estimatedUsd,hours',
    `${cardId},"'=HYPERLINK(""x"")",4,1,30,3,3,0,2`,
    '',
  ])
  expect((await csv('agent'))[2]).toBe("'-x,'-x,1,1,,,,0,0.5")
  expect((await board.request('GET', '/api/usage?groupBy=card&from=2026-02-30')).status).toBe(400)
  expect((await board.request('GET', '/api/usage?groupBy=card&from=2026-02-02&to=2026-02-01')).status).toBe(400)
  const { token } = await registerConfirmed(board, { email: 'eve@example.org', password: 'a long password' })
  expect(await board.as(token).usage.list({ groupBy: 'card' })).toEqual([])
})
