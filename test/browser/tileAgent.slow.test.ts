import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'

describe.skipIf(noBrowser !== undefined)("a card's agent on the board", () => {
  const visit = visitors()
  let board: AgentBoard
  beforeAll(async () => {
    board = await startAgentBoard({ coder: { fixture: 'shop' }, writer: { fixture: 'reviewed' } })
  })
  afterAll(() => board.close())

  const tile = (page: Page, title: string) => page.locator('.card').filter({ hasText: title })
  const action = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const open = async (options = {}) => {
    const visitor = await visit(board, { at: `#/projects/${board.projectId}`, ...options })
    await visitor.page.locator('.card').first().waitFor()
    return visitor
  }
  const animations = (page: Page) =>
    page.evaluate('document.getAnimations().filter(({ effect }) => effect.target.className.includes("running")).length')

  test('shows its current tool, a running stopwatch and a ring, which does not move with reduced motion', async () => {
    const { id } = await board.start('coder', { title: 'Of a runner', prompt: 'Fix it.' })
    const { page, axeViolations } = await open()
    const running = tile(page, 'Of a runner')
    await running.getByText('npm test -- login').waitFor()
    const watch = running.locator('.elapsed')
    const before = await watch.innerText()
    await expect.poll(() => watch.innerText()).not.toBe(before)
    expect(await animations(page)).toBe(1)
    expect(await axeViolations()).toEqual([])
    const calm = await open({ reducedMotion: 'reduce' })
    await tile(calm.page, 'Of a runner').getByText('npm test -- login').waitFor()
    expect(await animations(calm.page)).toBe(0)
    await board.client.agents.cancel({ projectId: board.projectId, cardId: id })
    await running.locator('.agent-ring').waitFor({ state: 'detached' })
  })

  test('Answer opens the question, and is next after the card by keyboard', async () => {
    const { id } = await board.start('coder', { title: 'Of an asker', prompt: 'Ask first.' })
    const { page } = await open()
    await tile(page, 'Of an asker').getByText('asks: npm install sharp@latest').waitFor()
    await page.getByRole('link', { name: 'Of an asker', exact: true }).focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    expect(await page.locator(':focus').innerText()).toBe('Answer')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    await board.client.agents.cancel({ projectId: board.projectId, cardId: id })
  })

  test('Review opens finished changes with their size, and Merge approved ones, in both themes', async () => {
    const { projectId } = board
    const { id: cardId } = await board.start('writer', { title: 'Of a writer' })
    await board.untilStatus(cardId, 'completed')
    const { page, axeViolations } = await open()
    const other = await open({ colorScheme: 'dark', viewport: { width: 360, height: 780 } })
    await tile(page, 'Of a writer')
      .getByRole('img', { name: /^1 file changed: [1-9]\d* added, 0 removed$/ })
      .waitFor()
    await other.page.getByRole('navigation', { name: 'Columns' }).getByRole('button', { name: 'In Progress' }).click()
    expect(await axeViolations()).toEqual([])
    expect(await other.axeViolations()).toEqual([])
    await action(page, 'Review: Of a writer').click()
    await page.getByRole('tab', { name: 'Changes', selected: true }).waitFor()
    await page.goBack()
    await board.client.reviews.create({ projectId, cardId, verdict: 'approve' })
    await action(page, 'Merge: Of a writer').click()
    await page.getByRole('tab', { name: 'Changes', selected: true }).waitFor()
  })

  test('Retry asks before it starts the agent', async () => {
    const { id } = await board.start('coder', { title: 'Of a failure', prompt: 'Fail early.' })
    await board.untilStatus(id, 'failed')
    const { page } = await open()
    await tile(page, 'Of a failure').getByText('crashed').waitFor()
    await action(page, 'Retry: Of a failure').click()
    const dialog = page.getByRole('alertdialog', { name: `Retry card ${id}?` })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await board.client.agents.sessions({ projectId: board.projectId, cardId: id })).toHaveLength(1)
    await action(page, 'Retry: Of a failure').click()
    await dialog.getByRole('button', { name: 'Retry' }).click()
    await page.getByText(`The agent of card ${id} resumes.`).first().waitFor()
  })
})
