import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'

describe.skipIf(noBrowser !== undefined)('home', () => {
  const visit = visitors()
  let board: AgentBoard
  beforeEach(async () => {
    const agents = {
      silent: { fixture: 'waits-for-model', env: { FIXTURE_WAIT: 'silent' } },
      asks: {
        fixture: 'permission-first',
        env: { FIXTURE_CALL: '{"kind":"execute","rawInput":{"command":"touch allowed.txt"}}' },
      },
      works: { fixture: 'well-behaved' },
      breaks: { fixture: 'crash-in-turn' },
    }
    board = await startAgentBoard(agents, { agentSilenceMs: 1500 })
  })
  afterEach(() => board.close())

  test('lists questions, failures and reviews of all projects, and marks them as read, snoozed and done', async () => {
    const { page, axeViolations } = await visit(board)
    await page.getByText('Your inbox is empty.').waitFor()
    const done = await board.start('works', { title: 'Done' })
    await board.untilStatus(done.id, 'completed')
    const broken = await board.start('breaks', { title: 'Broken' })
    await board.untilStatus(broken.id, 'failed')
    const asking = await board.start('asks', { title: 'Asking' })
    await board.untilStatus(asking.id, 'waiting')
    await page.getByRole('heading', { name: 'Inbox (3)' }).waitFor()
    const headings = page.getByRole('region', { name: /Inbox/ }).getByRole('heading', { level: 3 })
    await expect.poll(() => headings.allTextContents()).toEqual(['Questions', 'Failed', 'Reviews'])
    for (const [list, title] of [
      ['Questions', 'Asking'],
      ['Failed', 'Broken'],
      ['Reviews', 'Done'],
    ] as const)
      await page.getByRole('list', { name: list }).getByRole('link', { name: title }).waitFor()
    await expect.poll(() => page.title()).toBe('(3) Home · board')
    expect(await axeViolations()).toEqual([])

    await page.getByRole('button', { name: 'Mark as read: Done' }).click()
    await page.getByRole('heading', { name: 'Inbox (2)' }).waitFor()
    await page.getByRole('button', { name: 'Snooze: Broken' }).click()
    await page.getByRole('menuitem', { name: 'Until tomorrow' }).click()
    await expect.poll(() => headings.allTextContents()).toEqual(['Questions', 'Reviews'])
    await page.getByRole('link', { name: 'Asking' }).focus()
    await page.keyboard.press('j')
    await page.keyboard.press('A')
    await expect.poll(() => headings.allTextContents()).toEqual(['Questions'])
    const choose = async (list: string, option: string) => {
      await page.getByRole('combobox', { name: list }).click()
      await page.getByRole('option', { name: option, exact: true }).click()
    }
    await choose('State', 'Done')
    await expect.poll(() => headings.allTextContents()).toEqual(['Reviews'])
    expect(await axeViolations()).toEqual([])
    await choose('State', 'Snoozed')
    await page.getByText(/snoozed until/).waitFor()
    await page.getByRole('button', { name: 'Return to inbox: Broken' }).click()
    await page.getByText('No snoozed items.').waitFor()
    await choose('State', 'Open')
    await choose('Reason', 'Failed')
    await expect.poll(() => headings.allTextContents()).toEqual(['Failed'])

    await page.getByRole('link', { name: 'Broken' }).click()
    await expect.poll(() => page.title()).toBe('(1) Broken · board')
    await board.client.agents.cancel({ projectId: board.projectId, cardId: asking.id })
    await expect.poll(() => page.title()).toBe('Broken · board')
  })

  test('lists silent agents separately from questions, and can end them', async () => {
    const { id } = await board.start('silent', { title: 'Silent' })
    const { page, axeViolations } = await visit(board)
    const list = page.getByRole('list', { name: 'Silent agents' })
    await list
      .getByText(/^The agent has been silent for \d+ s, and its processes are idle\. Cancel the agent, or/)
      .waitFor()
    await list.getByText('waiting: silent').waitFor()
    await page.getByRole('heading', { name: 'Inbox (1)' }).waitFor()
    expect(await page.getByRole('list', { name: 'Questions' }).count()).toBe(0)
    expect(await axeViolations()).toEqual([])
    await list.getByRole('link', { name: 'Silent' }).click()
    await page.getByRole('status').filter({ hasText: 'and its processes are idle' }).waitFor()
    await page.goBack()
    await list.getByRole('button', { name: 'Cancel agent of Silent' }).click()
    await page.getByText('Your inbox is empty.').waitFor()
    expect(await board.card(id)).toMatchObject({ status: 'cancelled' })
  })

  test('answers a question with the agent’s own options, and the agent continues', async () => {
    const { id } = await board.start('asks', { title: 'Asking' })
    await board.untilStatus(id, 'waiting')
    const { page } = await visit(board)
    const item = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: 'Asking' }) })
    await item.getByText('touch allowed.txt').waitFor()
    await item.getByRole('button', { name: 'Allow', exact: true }).click()
    await board.untilStatus(id, 'completed')
    await page.getByRole('list', { name: 'Reviews' }).getByRole('link', { name: 'Asking' }).waitFor()
    await expect.poll(async () => (await board.messages(id)).at(-1)?.content).toBe('Written.')
  })
})
