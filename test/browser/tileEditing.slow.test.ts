import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { startBoardWithProject, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('cards on the board', () => {
  const visit = visitors()
  let board: TestBoard
  let projectId: string
  let columns: Awaited<ReturnType<TestBoard['client']['columns']['list']>>
  beforeAll(async () => {
    ;({ board, projectId } = await startBoardWithProject())
    columns = await board.client.columns.list({ projectId })
  })
  afterAll(() => board.close())

  const add = (...titles: string[]) =>
    Promise.all(titles.map(title => board.client.cards.create({ projectId, title, columnId: columns[0]!.id })))
  const card = (page: Page, title: string) => page.getByRole('link', { name: title, exact: true })
  const open = async () => {
    const visitor = await visit(board, { at: `#/projects/${projectId}` })
    await visitor.page.locator('.column').first().waitFor()
    return visitor
  }
  const titleOf = async (cardId: string) => (await board.client.cards.get({ projectId, cardId })).title

  test('the title is edited in place by key and by double click, and Escape keeps it', async () => {
    const [created] = await add('Old title')
    const { id } = created!
    const { page, axeViolations, settled } = await open()
    const field = page.getByRole('textbox', { name: `Title of card ${id}` })
    await card(page, 'Old title').focus()
    await page.keyboard.press('e')
    await page.keyboard.type('Not this')
    await page.keyboard.press('Escape')
    expect(await page.locator(':focus').innerText()).toBe('Old title')
    await page.keyboard.press('e')
    expect(await axeViolations()).toEqual([])
    await page.keyboard.type('New title')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator(':focus').innerText()).toBe('New title')
    await expect.poll(() => titleOf(id)).toBe('New title')
    await card(page, 'New title').dblclick()
    await field.waitFor()
    await settled()
    await field.fill('Newest title')
    await page.getByRole('heading', { level: 1 }).first().click()
    await field.waitFor({ state: 'detached' })
    await expect.poll(() => titleOf(id)).toBe('Newest title')
  })

  test('a shift-click selects a range, and the menu of a selected card is for all of them', async () => {
    await add('One', 'Two', 'Three', 'Four')
    const { page } = await open()
    const titles = await page.locator('.card-title').allInnerTexts()
    await page
      .locator('.card')
      .nth(0)
      .click({ modifiers: ['Control'], position: { x: 5, y: 5 } })
    await page
      .locator('.card')
      .nth(2)
      .click({ modifiers: ['Shift'], position: { x: 5, y: 5 } })
    await page.getByRole('region', { name: 'Selected cards' }).getByText('3 selected').waitFor()
    await card(page, titles[1]!).click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Plan…' }).click()
    await page.getByRole('dialog', { name: 'Plan of 3 cards' }).waitFor()
  })

  test('an empty column invites the user, and a column over its limit has a warning, in both themes', async () => {
    await add('More', 'Still more')
    await board.client.columns.update({ projectId, columnId: columns[0]!.id, wipLimit: 1 })
    const { page, axeViolations } = await open()
    await page.getByText('No cards. Drop a card here to start its agent.').waitFor()
    const over = page.getByRole('region', { name: /^Backlog, \d+ cards, over its limit$/ })
    await over.locator('.count.over .icon').waitFor()
    expect(await axeViolations()).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await axeViolations()).toEqual([])
    await page.getByRole('button', { name: 'New card in In Progress' }).click()
    await page.getByRole('textbox', { name: 'Title of a new card in In Progress' }).fill('First')
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'In Progress, 1 cards' }).waitFor()
  })
})
