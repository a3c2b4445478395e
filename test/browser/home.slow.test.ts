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

  test('lists questions, failures and unread cards of all projects in this order, and marks them as read for all users', async () => {
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
    await expect.poll(() => headings.allTextContents()).toEqual(['Questions', 'Failed', 'Finished, unread'])
    for (const [list, title] of [
      ['Questions', 'Asking'],
      ['Failed', 'Broken'],
      ['Finished, unread', 'Done'],
    ] as const)
      await page.getByRole('list', { name: list }).getByRole('link', { name: title }).waitFor()
    await expect.poll(() => page.title()).toBe('(3) Home · board')
    expect(await axeViolations()).toEqual([])

    await page.getByRole('button', { name: 'Mark as read: Done' }).click()
    await page.getByRole('heading', { name: 'Inbox (2)' }).waitFor()
    await expect.poll(async () => (await board.card(done.id)).unread).toBe(false)
  })

  test('lists silent agents separately from questions, and can end them', async () => {
    const { id } = await board.start('silent', { title: 'Silent' })
    const { page, axeViolations } = await visit(board)
    const list = page.getByRole('list', { name: 'Silent' })
    await list
      .getByText(/^The agent has been silent for \d+ s, and its processes are idle\. Cancel the agent, or/)
      .waitFor()
    await list.getByText('waiting: silent').waitFor()
    await page.getByRole('heading', { name: 'Inbox (1)' }).waitFor()
    expect(await page.getByRole('list', { name: 'Questions' }).count()).toBe(0)
    expect(await axeViolations()).toEqual([])
    await list.getByRole('link', { name: 'Silent' }).click()
    await page.getByRole('tab', { name: 'Transcript' }).click()
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
    await page.getByRole('list', { name: 'Finished, unread' }).getByRole('link', { name: 'Asking' }).waitFor()
    await expect.poll(async () => (await board.messages(id)).at(-1)?.content).toBe('Written.')
  })
})
