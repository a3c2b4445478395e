import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { startBoardWithProject, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('the lanes of a board', () => {
  const visit = visitors()
  let board: TestBoard
  let projectId: string
  const ids: Record<string, string> = {}
  beforeAll(async () => {
    ;({ board, projectId } = await startBoardWithProject())
    const columns = await board.client.columns.list({ projectId })
    const add = async (title: string, priority: 'high' | 'low', column: number) => {
      const columnId = columns[column]!.id
      ids[title] = (await board.client.cards.create({ projectId, title, priority, columnId, deferred: true })).id
    }
    await add('Roof', 'high', 0)
    await add('Cellar', 'low', 0)
    await add('Garden', 'high', 2)
    await add('Attic', 'high', 0)
  })
  afterAll(() => board.close())

  /** The names of the lanes, each with the titles in it. */
  const lanes = (page: Page) =>
    page.evaluate<string[][]>(`[...document.querySelectorAll('.lane')].map(lane =>
      [...lane.querySelectorAll('.lane-head .word, .card-title')].map(each => each.textContent))`)

  test('are chosen in a menu, are in the address, and hide their cards on a click', async () => {
    const { page, axeViolations } = await visit(board, { at: `#/projects/${projectId}` })
    await page.getByRole('button', { name: 'Group cards' }).click()
    await page.getByRole('menuitemcheckbox', { name: 'Priority' }).click()
    const all = [
      ['High', 'Roof', 'Attic', 'Garden'],
      ['Low', 'Cellar'],
    ]
    await expect.poll(() => lanes(page)).toEqual(all)
    await expect.poll(() => page.url()).toMatch(/\?group=priority$/)
    await page.reload()
    await expect.poll(() => lanes(page)).toEqual(all)
    expect(await axeViolations()).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await axeViolations()).toEqual([])
    await page.getByRole('link', { name: 'Roof' }).focus()
    const focused = () => page.locator(':focus').innerText()
    await page.keyboard.press('j')
    await expect.poll(focused).toBe('Attic')
    await page.keyboard.press('j')
    await expect.poll(focused).toBe('Cellar')
    await page.keyboard.press('k')
    for (const _ of [1, 2]) await page.keyboard.press('l')
    await expect.poll(focused).toBe('Garden')
    await page.getByRole('button', { name: /^High/ }).click()
    await expect.poll(() => lanes(page)).toEqual([['High'], ['Low', 'Cellar']])
    await page.setViewportSize({ width: 360, height: 700 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    expect(await axeViolations()).toEqual([])
  })

  test('change the property of a card that is dropped in another one, and its column', async () => {
    const { page } = await visit(board, { at: `#/projects/${projectId}?group=priority` })
    const card = await page.getByRole('link', { name: 'Cellar' }).boundingBox()
    const target = await page.getByRole('link', { name: 'Garden' }).boundingBox()
    await page.mouse.move(card!.x + 5, card!.y + 5)
    await page.mouse.down()
    await page.mouse.move(target!.x + 20, target!.y - 20, { steps: 12 })
    await page.mouse.move(target!.x + 20, target!.y - 4, { steps: 4 })
    await page.locator('.drop-line').waitFor()
    await page.mouse.up()
    await expect.poll(() => lanes(page)).toEqual([['High', 'Roof', 'Attic', 'Cellar', 'Garden']])
    const stored = () => board.client.cards.get({ projectId, cardId: ids.Cellar! })
    await expect.poll(stored).toMatchObject({ priority: 'high', columnName: 'Done' })
  })

  test.each(['', '?group=priority'])('have columns that are moved by dragging their heads, at %s', async query => {
    const before = (await board.client.columns.list({ projectId })).map(({ name }) => name)
    const { page } = await visit(board, { at: `#/projects/${projectId}${query}` })
    const heading = (name: string) => page.getByRole('heading', { name, exact: true })
    const from = (await heading(before[2]!).boundingBox())!
    const to = (await heading(before[0]!).boundingBox())!
    await page.mouse.move(from.x + 5, from.y + 5)
    await page.mouse.down()
    await page.mouse.move(from.x - 40, from.y + 10, { steps: 4 })
    await page.mouse.move(to.x + 10, to.y + 10, { steps: 12 })
    await page.locator('.drop-before').waitFor()
    await page.mouse.up()
    const after = [before[2], before[0], before[1]]
    await expect
      .poll(async () => (await board.client.columns.list({ projectId })).map(({ name }) => name))
      .toEqual(after)
    await expect.poll(() => page.locator('.column-head h2').allInnerTexts()).toEqual(after)
  })
})
