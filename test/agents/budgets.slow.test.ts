import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { fixtureState, startFolderBoard, type AgentBoard, type FixtureAgent } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
afterEach(() => board.close())

/** An agent that spends 5 cents per step. */
const spending = (env: Record<string, string> = {}): FixtureAgent => ({
  fixture: 'spending',
  env: { FIXTURE_EVERY_MS: '20', ...env },
})
/** An agent that spends again once its previous cost is recorded. */
const stepping = (env: Record<string, string> = {}) => spending({ FIXTURE_STEPS: '1', ...env })
const at = (cardId: string) => ({ projectId: board.projectId, cardId })
type NewBudget = Parameters<AgentBoard['client']['budgets']['create']>[0]
const bound = (budget: Partial<NewBudget> = {}) =>
  board.client.budgets.create({
    scope: 'project',
    scopeId: board.projectId,
    unit: 'usd',
    limit: 0.5,
    period: 'total',
    ...budget,
  })
const read = async (id: string) => (await board.client.budgets.list({})).find(each => each.id === id)!
/** How often agents have spent by their own count, including costs in flight when they were stopped. */
const timesSpent = () => {
  const file = join(fixtureState(board.server.app.config.dataDir), 'spent')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0
}
const spentByAgents = () => (timesSpent() * 5) / 100
const isPaused = ({ status, statusReason }: { status: string; statusReason: string | null }) =>
  status === 'waiting' && statusReason === 'budget'
/** Makes agents spend, one step at a time and all of them concurrently, until their cards wait for a budget. */
async function spendUntilPaused(budgetId: string, cards: readonly string[], each = 0.05): Promise<void> {
  const before = (await read(budgetId)).spent
  const begun = timesSpent()
  for (let step = begun / cards.length + 1; ; step++) {
    writeFileSync(join(fixtureState(board.server.app.config.dataDir), 'steps'), String(step))
    const isOver = await eventually('what was spent, on the budget', async () => {
      const states = (await Promise.all(cards.map(board.card))).map(isPaused)
      if (states.every(Boolean)) return 'paused'
      const booked = (await read(budgetId)).spent - before >= (timesSpent() - begun) * each - 1e-6
      return booked && timesSpent() === step * cards.length && 'booked'
    })
    if (isOver === 'paused') return
  }
}
const untilPaused = (cardId: string) => board.until(cardId, 'the wait for a budget', isPaused)
const code = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )
const usageOf = async (groupBy: 'card' | 'model' | 'user' = 'card') => (await board.client.usage.list({ groupBy }))[0]!

test('a budget of $0.50 at 5 cents per step stops at $0.55 or less, and the session resumes when it is raised', async () => {
  board = await startFolderBoard({ spender: stepping({ FIXTURE_UNTIL: '70' }) })
  const { id: budgetId } = await bound()
  const { id } = await board.start('spender')
  await spendUntilPaused(budgetId, [id])
  const paused = await board.card(id)
  await board.untilNoneRuns()
  const spent = spentByAgents()
  expect(spent).toBeLessThanOrEqual(0.55)
  expect(spent).toBeGreaterThanOrEqual(0.5)
  expect(paused).toMatchObject({ hasActiveAgent: true, lastAgentAction: { type: 'waiting' } })
  expect(paused.lastAgentAction!.detail).toBe(
    `The budget of project ${board.projectId} "Agents" is used up: $0.50 of $0.50. Raise its limit to continue.`,
  )
  expect(await read(budgetId)).toMatchObject({ state: 'exhausted', unknownRuns: 0, resetsAt: null })
  expect((await read(budgetId)).spent).toBeCloseTo(spent, 6)

  await board.client.budgets.update({ id: budgetId, limit: 2 })
  writeFileSync(join(fixtureState(board.server.app.config.dataDir), 'steps'), '100')
  await board.untilStatus(id, 'completed')
  expect(await board.client.agents.sessions(at(id))).toHaveLength(1)
  const told = (await board.messages(id)).filter(({ role }) => role === 'agent').map(({ content }) => content)
  expect(told.join('\n')).toContain('I received: Continue your task where you left off.')
  expect((await read(budgetId)).spent).toBeCloseTo(0.7, 6)
  const row = await usageOf()
  expect(row).toMatchObject({ key: id, name: 'Work', runs: 1, unknownRuns: 0, estimatedUsd: 0 })
  expect(row.costUsd).toBeCloseTo(0.7, 6)
})

test('an exhausted budget rejects starts, relaunches and messages, and automatic work waits and resumes in order', async () => {
  board = await startFolderBoard({ spender: spending({ FIXTURE_UNTIL: '5' }) })
  const { client, projectId, columns } = board
  const { id } = await board.start('spender')
  await board.untilStatus(id, 'completed')
  const first = await board.start('spender', { columnId: columns.backlog })
  const second = await board.start('spender', { columnId: columns.backlog, autoMode: true, blockedBy: [first.id] })
  const third = await board.start('spender', { columnId: columns.backlog, autoMode: true, blockedBy: [first.id] })
  // Usage before the creation of the budget counts.
  const budget = await bound({ limit: 0.05 })
  expect(budget).toMatchObject({ spent: 0.05, state: 'exhausted' })
  for (const refused of [
    () => client.agents.send({ ...at(id), content: 'Go on.' }),
    () => client.agents.retry(at(id)),
    () => client.agents.relaunch(at(id)),
    () => board.start('spender', { mustStart: true }),
    () => client.cards.move({ ...at(first.id), columnId: columns.active, mustStart: true }),
    () => client.preSessions.start({ projectId, cardId: first.id }),
    () => client.assistant.send({ projectId, content: 'What now?' }),
  ])
    expect(await code(refused())).toBe('BUDGET_EXHAUSTED')
  const deferred = await board.start('spender', { deferred: true })
  expect(await code(client.cards.activate(at(deferred.id)))).toBe('BUDGET_EXHAUSTED')
  expect(await board.start('spender')).toMatchObject({ status: 'waiting', statusReason: 'budget' })

  await client.cards.complete(at(first.id))
  await Promise.all([second, third].map(card => untilPaused(card.id)))
  await eventually('the end of their processes', () => board.processes().length === 0)
  await client.budgets.delete({ id: budget.id })
  const ended = await Promise.all(
    [second, third].map(card => board.until(card.id, 'the end', found => found.columnType === 'done')),
  )
  expect(ended[0]!.startedAt! <= ended[1]!.startedAt!).toBe(true)
  for (const { id: cardId } of ended) expect(await client.agents.sessions(at(cardId))).toHaveLength(1)
})

test('four concurrent agents exceed it by no more than their cost in flight', async () => {
  board = await startFolderBoard({ spender: stepping() }, { agentSlots: 4 })
  const { id: budgetId } = await bound({ limit: 0.55 })
  const cards = await Promise.all([1, 2, 3, 4].map(() => board.start('spender', { useWorktree: false })))
  await spendUntilPaused(
    budgetId,
    cards.map(({ id }) => id),
  )
  await board.untilNoneRuns()
  expect(spentByAgents()).toBeLessThanOrEqual(0.55 + 4 * 0.05)
  // Costs in flight are also booked.
  await eventually('all of it', async () => Math.abs((await read(budgetId)).spent - spentByAgents()) < 1e-6)
})

test('the cost of an agent that reports none is unknown, and not 0', async () => {
  board = await startFolderBoard({ quiet: spending({ FIXTURE_SILENT: '1', FIXTURE_UNTIL: '15' }) })
  const [usd, tokens, runs] = [
    await bound({ limit: 0.01 }),
    await bound({ unit: 'tokens', limit: 1 }),
    await bound({ unit: 'runs', limit: 1 }),
  ]
  const { id } = await board.start('quiet')
  await board.untilStatus(id, 'completed')
  for (const budget of [usd, tokens])
    expect(await read(budget.id)).toMatchObject({ spent: 0, unknownRuns: 1, state: 'ok' })
  expect(await read(runs.id)).toMatchObject({ spent: 1, unknownRuns: 0, state: 'exhausted' })
  expect(await usageOf()).toMatchObject({ runs: 1, unknownRuns: 1, costUsd: null, inputTokens: null })
  expect(await code(board.start('quiet', { mustStart: true }))).toBe('BUDGET_EXHAUSTED')
})

test('the cost of an agent that reports only tokens is computed by the price list, while it runs', async () => {
  board = await startFolderBoard({
    priced: stepping({ FIXTURE_TOKENS: '100000', FIXTURE_MODEL: 'openai/gpt-5.4' }),
    unpriced: spending({ FIXTURE_TOKENS: '100000', FIXTURE_MODEL: 'home-made', FIXTURE_UNTIL: '10' }),
  })
  const unpriced = await board.start('unpriced')
  await board.untilStatus(unpriced.id, 'completed')
  const { id: budgetId } = await bound({ limit: 1 })
  expect(await read(budgetId)).toMatchObject({ spent: 0, unknownRuns: 1 })
  rmSync(join(fixtureState(board.server.app.config.dataDir), 'spent'))
  await spendUntilPaused(budgetId, [(await board.start('priced')).id], 0.25)
  await board.untilNoneRuns()
  const { spent, unknownRuns } = await read(budgetId)
  // $0.25 for 100,000 tokens, plus the cost of one output token.
  expect(spent).toBeGreaterThanOrEqual(1)
  expect(spent).toBeLessThanOrEqual(1.2501)
  expect(unknownRuns).toBe(1)
  expect(await usageOf('model')).toMatchObject({ key: 'openai/gpt-5.4', unknownRuns: 0, estimatedUsd: spent })
  const [, other] = await board.client.usage.list({ groupBy: 'model' })
  expect(other).toMatchObject({ key: 'home-made', costUsd: null, inputTokens: 200_000 })
})

test('at 80 % users are notified once per period, with the amounts', async () => {
  board = await startFolderBoard({ spender: stepping() })
  const { id: budgetId } = await bound({ period: 'month' })
  const { id } = await board.start('spender')
  await spendUntilPaused(budgetId, [id])
  const told = () => board.socket.messages.filter(({ type }) => type.startsWith('budget.')).map(({ type }) => type)
  await eventually('both events', () => told().includes('budget.exhausted'))
  expect(told()).toEqual(['budget.created', 'budget.warned', 'budget.exhausted'])
  const warned = board.socket.messages.find(({ type }) => type === 'budget.warned')!
  expect(warned.data).toMatchObject({ id: budgetId, cardId: id, state: 'warned', limit: 0.5 })
  const notices = () =>
    board.socket.messages.filter(({ type, data }) => type === 'notification' && data.kind === 'budget')
  await eventually('both notifications', () => notices().length === 2)
  expect(notices().map(({ data }) => data.message as string)).toEqual([
    expect.stringMatching(/^80 % of the budget of project \d+ "Agents" is spent: \$0\.4\d of \$0\.50 this month\./),
    expect.stringMatching(/^The budget of project \d+ "Agents" is used up: \$0\.5\d of \$0\.50 this month\./),
  ])
})

test('hours use the monotonic clock, and a new calendar day resumes work automatically', async () => {
  let offsetMs = Date.parse('2026-05-10T06:00:00.000Z') - Date.now()
  const clock = () => new Date(Date.now() + offsetMs)
  board = await startFolderBoard({ spender: stepping() }, { clock })
  const hours = await bound({ unit: 'hours', limit: 1 })
  const day = await bound({ period: 'day', limit: 0.3 })
  const { id } = await board.start('spender')
  await board.untilStatus(id, 'running')
  offsetMs += 5 * 3_600_000
  await spendUntilPaused(day.id, [id])
  offsetMs -= 2 * 3_600_000
  await board.untilNoneRuns()
  expect((await read(hours.id)).spent).toBeLessThan(0.5)
  expect(await read(day.id)).toMatchObject({ state: 'exhausted', resetsAt: '2026-05-11T00:00:00.000Z' })
  offsetMs += 86_400_000
  await board.until(id, 'a new day', ({ status }) => status === 'running')
  await spendUntilPaused(day.id, [id])
  expect((await read(day.id)).spent).toBeCloseTo(0.3, 6)
})

test('a limit in hours pauses sessions that have run that long', async () => {
  board = await startFolderBoard({ spender: spending() })
  const { id: budgetId } = await bound({ unit: 'hours', limit: 2 / 3600 })
  await untilPaused((await board.start('spender')).id)
  await board.untilNoneRuns()
  expect((await read(budgetId)).spent * 3600).toBeGreaterThanOrEqual(2)
  expect((await read(budgetId)).spent * 3600).toBeLessThan(600)
})
