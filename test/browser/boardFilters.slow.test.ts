import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { startBoardWithProject, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)("the filters of a board's cards", () => {
  const visit = visitors()
  let board: TestBoard
  let projectId: string
  beforeAll(async () => {
    ;({ board, projectId } = await startBoardWithProject())
    const add = (title: string, labels: string[], priority: 'high' | 'low' = 'low') =>
      board.client.cards.create({ projectId, title, labels, priority })
    await add('Roof', ['needs design', 'outside'], 'high')
    await add('Cellar', ['needs design'])
    await add('Garden', ['outside'])
  })
  afterAll(() => board.close())

  test('are chips from a searched list, survive a reload, and are removed one by one', async () => {
    const { page, axeViolations } = await visit(board, { at: `#/projects/${projectId}` })
    const titles = () => page.locator('.card-title').allInnerTexts()
    const choose = async (typed: string, name: string) => {
      await page.getByRole('combobox', { name: 'Add filter', exact: true }).click()
      await page.keyboard.type(typed)
      await page.getByRole('option', { name, exact: true }).waitFor()
      await page.keyboard.press('Enter')
    }
    await expect.poll(titles).toEqual(['Roof', 'Cellar', 'Garden'])
    await choose('design', 'Label: needs design')
    await expect.poll(titles).toEqual(['Roof', 'Cellar'])
    await choose('high', 'Priority: high')
    await expect.poll(titles).toEqual(['Roof'])
    expect(await axeViolations()).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await axeViolations()).toEqual([])

    await page.reload()
    await expect.poll(titles).toEqual(['Roof'])
    await page.getByRole('button', { name: 'Remove filter Label: needs design' }).click()
    await choose('low', 'Priority: low')
    await expect.poll(titles).toEqual(['Roof', 'Cellar', 'Garden'])
    await page.getByRole('searchbox', { name: 'Filter cards' }).fill('garden')
    await expect.poll(titles).toEqual(['Garden'])
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await expect.poll(titles).toEqual(['Roof', 'Cellar', 'Garden'])
    expect(page.url()).not.toContain('filter')
  })

  test('an order is chosen in a menu or by key, is in the address, and has a chip that removes it', async () => {
    const { page, axeViolations } = await visit(board, { at: `#/projects/${projectId}?sort=title` })
    const titles = () => page.locator('.card-title').allInnerTexts()
    await expect.poll(titles).toEqual(['Cellar', 'Garden', 'Roof'])
    await page.getByText('Sorted by title').waitFor()
    expect(await axeViolations()).toEqual([])
    await page.getByRole('link', { name: 'Garden' }).click()
    await expect.poll(() => page.url()).toMatch(/\/beside\/\d+\?sort=title$/)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Sort cards' }).click()
    await page.getByRole('menuitemcheckbox', { name: 'Priority' }).click()
    await expect.poll(titles).toEqual(['Roof', 'Cellar', 'Garden'])
    await expect.poll(() => page.url()).toMatch(/\?sort=priority$/)
    await page.getByRole('link', { name: 'Roof' }).focus()
    await page.keyboard.press('J')
    await page.getByText('Cards are sorted.').first().waitFor()
    await page.getByRole('button', { name: 'Show the board order' }).click()
    await page.keyboard.press('S')
    await page.getByText('Sorted by latest change').waitFor()
    await expect.poll(() => page.url()).toMatch(/\?sort=changed$/)
    const [card] = (await board.client.cards.list({ projectId })).filter(({ title }) => title === 'Roof')
    await page.goto(`${board.url}/#/projects/${projectId}/cards/${card!.id}`)
    await page.getByRole('link', { name: 'Board', exact: true }).click()
    await expect.poll(() => page.url()).toMatch(/\?sort=changed$/)
  })
})
