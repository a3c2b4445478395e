import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configure, fixtureState } from '../support/agents/agentBoard.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import type { TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { isSharable, startSharing } from './sharing.ts'

const root = mkdtempSync(join(tmpdir(), 'board-shared-budget-'))
const mark = randomUUID()
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }))

describe.skipIf(!isSharable)('a budget of an organization, on two daemons', () => {
  const boards: TestBoard[] = []
  const cards: Array<{ projectId: string; cardId: string }> = []
  const folder = (machine: string) => join(root, machine)
  let budgetId: string

  beforeAll(async () => {
    const sharing = await startSharing()
    for (const machine of ['one', 'two']) {
      const env = { FIXTURE_EVERY_MS: '20', FIXTURE_STEPS: '1' }
      configure(folder(machine), { spender: { fixture: 'spending', env } }, mark)
      boards.push(await sharing.join(machine, { dataDir: folder(machine), agentSlots: 2 }))
    }
    await eventually(
      'both daemons at work',
      async () =>
        (await boards[0]!.client.server.daemons()).filter(each => each.duties.includes('machine')).length === 2,
    )
    const { id: organizationId } = await boards[0]!.client.organizations.create({ name: 'Crew' })
    budgetId = (
      await boards[1]!.client.budgets.create({
        scope: 'organization',
        scopeId: organizationId,
        unit: 'usd',
        limit: 0.5,
        period: 'total',
      })
    ).id
    for (const board of boards) {
      const { client } = board
      const { id: projectId } = await client.projects.create({ name: 'P', path: board.folder('p'), organizationId })
      const [, active] = await client.columns.list({ projectId })
      for (const title of ['a', 'b']) {
        const { id: cardId } = await client.cards.create({
          projectId,
          title,
          prompt: 'Do it.',
          columnId: active!.id,
          agent: 'spender',
          useWorktree: false,
        })
        cards.push({ projectId, cardId })
      }
    }
  })

  const statuses = () => Promise.all(cards.map(async card => (await boards[0]!.client.cards.get(card)).statusReason))
  const spent = async () => (await boards[1]!.client.budgets.list({})).find(({ id }) => id === budgetId)!.spent
  const timesSpent = () =>
    ['one', 'two'].reduce((sum, machine) => {
      const file = join(fixtureState(folder(machine)), 'spent')
      return sum + (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0)
    }, 0)
  const allow = (steps: number) => {
    for (const machine of ['one', 'two']) writeFileSync(join(fixtureState(folder(machine)), 'steps'), String(steps))
  }
  /** Makes each agent spend one step at a time until all cards wait for the budget. */
  const spendUntilPaused = async (from: number) => {
    for (let step = from; ; step++) {
      allow(step)
      const isOver = await eventually(
        'what was spent, on the budget',
        async () => {
          if ((await statuses()).every(reason => reason === 'budget')) return 'paused'
          const all = timesSpent() === step * cards.length && Math.abs((await spent()) - timesSpent() * 0.05) < 1e-6
          return all && 'booked'
        },
        30_000,
      )
      if (isOver === 'paused') return step
    }
  }

  it('pauses the sessions of both within the cost in flight, and resumes them once when it is raised', async () => {
    const step = await spendUntilPaused(1)
    await eventually('the end of every agent', () => processesWith(mark).length === 0)
    expect(timesSpent() * 0.05).toBeLessThanOrEqual(0.5 + 4 * 0.05 + 1e-6)
    await boards[0]!.client.budgets.update({ id: budgetId, limit: 1 })
    await eventually('their work', async () => (await statuses()).every(reason => reason === null), 30_000)
    await spendUntilPaused(step)
    await eventually('the end of every agent', () => processesWith(mark).length === 0)
    expect(timesSpent() * 0.05).toBeLessThanOrEqual(1 + 4 * 0.05 + 1e-6)
    await eventually('all of it on the budget', async () => Math.abs((await spent()) - timesSpent() * 0.05) < 1e-6)
    for (const card of cards) expect(await boards[1]!.client.agents.sessions(card)).toHaveLength(1)
  })
})
