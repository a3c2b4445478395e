import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { configure, fixtureState } from '../support/agents/agentBoard.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import { eventually } from '../support/waiting/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'board-budgets-'))
const dataDir = join(root, 'data')
const mark = randomUUID()
const board = boardProcess(dataDir, { HOME: root })
afterAll(async () => {
  await clearAway(board, root)
  for (const pid of processesWith(mark)) process.kill(pid, 'SIGKILL')
})

const steps = (count: number) => writeFileSync(join(fixtureState(dataDir), 'steps'), String(count))
const spentByAgents = () =>
  readFileSync(join(fixtureState(dataDir), 'spent'), 'utf8')
    .trim()
    .split('\n').length * 0.05

it('kill -9 loses no booked cost and books none twice; a card that waits for a budget resumes afterwards, once', async () => {
  configure(dataDir, { spender: { fixture: 'spending', env: { FIXTURE_EVERY_MS: '20', FIXTURE_STEPS: '1' } } }, mark)
  const path = join(root, 'project')
  mkdirSync(path)
  await board.start()
  const { id: projectId } = await board.client.projects.create({ name: 'Killed', path })
  const [, active] = await board.client.columns.list({ projectId })
  const { id: budgetId } = await board.client.budgets.create({
    scope: 'project',
    scopeId: projectId,
    unit: 'usd',
    limit: 0.2,
    period: 'total',
  })
  const budget = async () => (await board.client.budgets.list({})).find(({ id }) => id === budgetId)!
  const booked = (usd: number) =>
    eventually(`$${usd} on the budget`, async () => Math.abs((await budget()).spent - usd) < 1e-6)
  const { id: cardId } = await board.client.cards.create({
    projectId,
    title: 'Spend',
    prompt: 'Do it.',
    columnId: active!.id,
    agent: 'spender',
    useWorktree: false,
  })
  const card = () => board.client.cards.get({ projectId, cardId })
  const until = (status: string) => eventually(`the status ${status}`, async () => (await card()).status === status)
  steps(2)
  await booked(0.1)
  await board.end('SIGKILL')
  await board.start()
  await until('interrupted')
  await booked(0.1)
  await eventually('the end of its agent', () => processesWith(mark).length === 0)

  // The agent continues its count: costs that it reports again are not booked again.
  await board.client.agents.retry({ projectId, cardId })
  steps(4)
  await booked(0.2)
  await until('waiting')
  expect((await card()).statusReason).toBe('budget')
  await board.end('SIGKILL')
  await board.start()
  expect(await card()).toMatchObject({ status: 'waiting', statusReason: 'budget' })
  await expect(board.client.agents.send({ projectId, cardId, content: 'Go on.' })).rejects.toMatchObject({
    code: 'BUDGET_EXHAUSTED',
  })
  await board.client.budgets.update({ id: budgetId, limit: 0.3 })
  await board.end('SIGKILL')
  await board.start()
  await eventually('its agent at work', async () => ['running', 'interrupted'].includes((await card()).status))
  // The server was killed before the session resumed, or just after.
  if ((await card()).status === 'interrupted') await board.client.agents.retry({ projectId, cardId })
  steps(6)
  await until('waiting')
  expect((await card()).statusReason).toBe('budget')
  await eventually('the end of its agent', () => processesWith(mark).length === 0)
  expect(spentByAgents()).toBeCloseTo(0.3)
  await booked(0.3)
  expect(await board.client.agents.sessions({ projectId, cardId })).toHaveLength(1)
})
