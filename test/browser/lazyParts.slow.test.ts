import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('a part of the page that is loaded later', () => {
  const visit = visitors()
  let board: TestBoard
  let at: string
  beforeAll(async () => {
    board = await startBoard()
    const { id: projectId } = await board.client.projects.create({ name: 'roof', path: board.folder('roof') })
    const [column] = await board.client.columns.list({ projectId })
    await board.client.cards.create({ projectId, columnId: column!.id, title: 'Fix the roof' })
    at = `#/projects/${projectId}`
  })
  afterAll(() => board.close())

  test('shows an error if loading fails, keeps typed text, and loads on retry', async () => {
    const { page, settled, axeViolations } = await visit(board, { at })
    await settled()
    await page
      .getByRole('button', { name: /^New card/ })
      .first()
      .click()
    const title = page.getByRole('textbox', { name: /title/i })
    await title.fill('Half a thought')
    const scripts = '**/*.js'
    await page.route(scripts, route => route.abort())

    await page.keyboard.press('Control+k')
    const failed = page.getByRole('alert').filter({ hasText: 'could not be loaded' })
    await failed.waitFor()
    expect(await axeViolations()).toEqual([])
    expect(await title.inputValue()).toBe('Half a thought')

    await failed.getByRole('button', { name: 'Retry' }).click()
    await failed.waitFor()
    await page.unroute(scripts)
    await failed.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('combobox', { name: 'Cards, boards' }).waitFor()
    await failed.waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    expect(await title.inputValue()).toBe('Half a thought')
  })

  test('keeps the board next to a card that fails to load', async () => {
    const { page, settled } = await visit(board, { at })
    await settled()
    await page.route('**/*.js', route => route.abort())
    await page.getByText('Fix the roof').click()
    await page.getByRole('alert').filter({ hasText: 'could not be loaded' }).waitFor()
    await page.getByRole('button', { name: 'Reload the page' }).waitFor()
    await expect.poll(() => cardsShown(page), { timeout: 20_000 }).toBe(1)
  })
})

const cardsShown = (page: Page) => page.locator('.card').count()
