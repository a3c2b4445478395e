import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { fixtureState, startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
afterEach(() => board.close())

const start = Date.parse('2026-11-23T08:30:00.000Z')
/** Agents that spend 5 cents per step: one on request of the test, one until it is done. */
const agents = {
  stepping: { fixture: 'spending', env: { FIXTURE_EVERY_MS: '20', FIXTURE_STEPS: '1', FIXTURE_UNTIL: '20' } },
  brief: { fixture: 'spending', env: { FIXTURE_EVERY_MS: '20', FIXTURE_UNTIL: '5' } },
  forever: { fixture: 'forever' },
}
const stateFile = (name: string) => join(fixtureState(board.server.app.config.dataDir), name)
const steps = (count: number) => writeFileSync(stateFile('steps'), String(count))
const timesSpent = () =>
  existsSync(stateFile('spent')) ? readFileSync(stateFile('spent'), 'utf8').trim().split('\n').length : 0
const bound = (scope: 'project' | 'card', scopeId: string, limit: number) =>
  board.client.budgets.create({ scope, scopeId, unit: 'usd', limit, period: 'total' })
const raise = (id: string, limit: number) => board.client.budgets.update({ id, limit })
const untilWaitingFor = (cardId: string, status: 'waiting' | 'queued', reason: 'budget' | 'slots') =>
  board.until(cardId, `the wait for ${reason}`, card => card.status === status && card.statusReason === reason)
/** A session that a budget paused keeps the budget as its reason. */
const untilWaitingForSlot = (cardId: string) =>
  board.until(
    cardId,
    'the wait for a slot',
    ({ status, lastAgentAction }) =>
      status === 'queued' && lastAgentAction?.detail === 'Waiting for a slot: the project has one.',
  )
const sessions = async (cardId: string) =>
  (await board.client.agents.sessions({ projectId: board.projectId, cardId })).length

test('a card in the queue waits for an exhausted budget first, and then for its slot, in order', async () => {
  board = await startFolderBoard(agents)
  await board.client.projects.update({ id: board.projectId, agentSlots: 1 })
  const { id: budgetId } = await bound('project', board.projectId, 0.1)
  const first = await board.start('stepping')
  await board.untilStatus(first.id, 'running')
  const second = await board.start('stepping')
  await untilWaitingFor(second.id, 'queued', 'slots')
  steps(2)
  for (const { id } of [first, second]) await untilWaitingFor(id, 'waiting', 'budget')
  expect((await board.card(second.id)).lastAgentAction!.detail).toContain('is used up')
  expect(timesSpent()).toBeLessThanOrEqual(3)

  // The agent of the first session might still be stopping and hold its slot.
  await raise(budgetId, 5)
  await board.untilStatus(first.id, 'running')
  await untilWaitingForSlot(second.id)
  steps(100)
  for (const { id } of [first, second]) await board.untilStatus(id, 'completed')
  const [firstEnd, secondStart] = [(await board.card(first.id)).endedAt!, (await board.card(second.id)).startedAt!]
  expect(firstEnd <= secondStart).toBe(true)
  expect([await sessions(first.id), await sessions(second.id)]).toEqual([1, 1])
  expect(timesSpent()).toBe(8)
})

test('a session that a budget paused has no slot, and waits for one when it can resume', async () => {
  board = await startFolderBoard(agents)
  await board.client.projects.update({ id: board.projectId, agentSlots: 1 })
  const paused = await board.start('stepping')
  await board.untilStatus(paused.id, 'running')
  const { id: budgetId } = await bound('card', paused.id, 0.1)
  const other = await board.start('forever')
  await untilWaitingFor(other.id, 'queued', 'slots')
  steps(2)
  await untilWaitingFor(paused.id, 'waiting', 'budget')
  await board.untilStatus(other.id, 'running')

  await raise(budgetId, 5)
  await untilWaitingForSlot(paused.id)
  expect(await board.card(other.id)).toMatchObject({ status: 'running' })
  // The budget is exhausted again during the wait for a slot: the card waits for the budget, and takes no slot from others.
  await raise(budgetId, 0.05)
  await board.client.agents.cancel({ projectId: board.projectId, cardId: other.id })
  await untilWaitingFor(paused.id, 'waiting', 'budget')
  const third = await board.start('brief')
  await board.untilStatus(third.id, 'completed')
  steps(100)
  await raise(budgetId, 5)
  await board.untilStatus(paused.id, 'completed')
  expect(await sessions(paused.id)).toBe(1)
})

test('scheduled cards and cards with a start time wait for an exhausted budget, report it, and start once it is raised', async () => {
  let nowMs = start
  board = await startFolderBoard(agents, { clock: () => new Date(nowMs) })
  const { client, projectId, columns } = board
  await client.projects.update({ id: projectId, agent: 'brief' })
  const spender = await board.start('brief')
  await board.untilStatus(spender.id, 'completed')
  await eventually('the end of its process', () => board.processes().length === 0)
  const { id: budgetId } = await bound('project', projectId, 0.05)
  const template = { title: 'Daily', prompt: 'Do it.', columnId: columns.active, useWorktree: false }
  const { id: scheduleId } = await client.schedules.create({ projectId, name: 'Daily', everySecs: 3600, template })
  const timed = await board.start('brief', { startAt: new Date(start + 3_600_000).toISOString() })
  expect(timed.status).toBe('idle')

  nowMs += 3_600_000
  await board.server.app.timer.reconcile()
  const schedule = (await client.schedules.list({ projectId })).find(({ id }) => id === scheduleId)!
  expect(schedule).toMatchObject({ enabled: true, disabledReason: null, lastRunAt: new Date(nowMs).toISOString() })
  const waiting = [timed.id, schedule.lastCardId!]
  for (const id of waiting) {
    const { lastAgentAction } = await untilWaitingFor(id, 'waiting', 'budget')
    expect(lastAgentAction).toMatchObject({ type: 'waiting', detail: expect.stringMatching(/is used up: \$0\.05 of/) })
  }
  await board.untilNoneRuns()
  const asked = await client.schedules.run({ projectId, scheduleId })
  expect(asked).toMatchObject({ status: 'waiting', statusReason: 'budget' })
  expect(asked.lastAgentAction!.detail).toContain('is used up')

  await raise(budgetId, 5)
  for (const id of [...waiting, asked.id]) await board.untilStatus(id, 'completed')
  await eventually('what was spent, on the budget', async () => {
    const { spent } = (await client.budgets.list({})).find(({ id }) => id === budgetId)!
    return Math.abs(spent - 0.2) < 1e-6
  })
  expect(await Promise.all([...waiting, asked.id].map(sessions))).toEqual([1, 1, 1])
})
