import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { actOn } from '../support/browsers/actOn.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'

describe.skipIf(noBrowser !== undefined)('budgets, in the browser', () => {
  const visit = visitors()
  let board: AgentBoard
  let cardId: string
  beforeAll(async () => {
    board = await startFolderBoard({
      spender: { fixture: 'spending', env: { FIXTURE_EVERY_MS: '50', FIXTURE_CENTS: '50', FIXTURE_UNTIL: '400' } },
    })
    cardId = (await board.start('spender', { title: 'Fix the roof' })).id
    await board.untilStatus(cardId, 'completed')
  })
  afterAll(() => board.close())

  test('a budget is created for a project, shown as a bar and in words, raised and deleted', async () => {
    const { page, axeViolations, settled } = await visit(board, {
      at: `#/projects/${board.projectId}/settings/budgets`,
    })
    await page.getByText('No budgets.').waitFor()
    await page.getByRole('row', { name: /Fix the roof 1 unknown unknown \$4\.00/ }).waitFor()
    await page.getByRole('button', { name: 'New budget' }).click()
    await page.getByRole('spinbutton', { name: 'Limit' }).fill('4.5')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('$4.00 of $4.50 this month (89%): 80% spent').waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await actOn(page, 'Project Agents', 'Edit')
    await page.getByRole('spinbutton', { name: 'Limit' }).fill('20')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('$4.00 of $20.00 this month (20%): within the limit').waitFor()
    await choose(page.getByRole('combobox', { name: 'Usage by' }), 'agent')
    await page.getByRole('row', { name: /spender 1 unknown/ }).waitFor()
    const [csv] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV', exact: true }).click(),
    ])
    expect(csv.suggestedFilename()).toBe('use-by-agent.csv')
    const url = `${board.url}/api/usage?groupBy=agent&projectId=${board.projectId}`
    const headers = { accept: 'text/csv', authorization: `Bearer ${board.token}` }
    expect(readFileSync(await csv.path(), 'utf8')).toBe(await (await fetch(url, { headers })).text())
    await actOn(page, 'Project Agents', 'Delete')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No budgets.').waitFor()
  })

  test('a card that waits for a budget names it, and can be resumed in one step', async () => {
    const budget = await board.client.budgets.create({
      scope: 'project',
      scopeId: board.projectId,
      unit: 'usd',
      limit: 5,
      period: 'total',
    })
    const { id } = await board.start('spender', { title: 'Paint it' })
    await board.until(id, 'the wait', ({ statusReason }) => statusReason === 'budget')
    const { page, axeViolations, settled } = await visit(board, {
      at: `#/projects/${board.projectId}/cards/${id}`,
    })
    await page.getByText('The agent is paused because a budget is exhausted.').waitFor()
    await page.getByText(/\$\d+\.\d\d of \$5\.00 in total \(\d+%\): used up/).waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await page.getByRole('button', { name: 'Raise limit' }).click()
    await page.getByRole('spinbutton', { name: 'Limit' }).fill('50')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The agent is paused because a budget is exhausted.').waitFor({ state: 'detached' })
    await board.untilStatus(id, 'completed')
    await board.client.budgets.delete({ id: budget.id })
  })
})
