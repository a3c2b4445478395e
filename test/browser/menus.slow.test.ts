import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { startBoardWithProject, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('what opens above the board', () => {
  const visit = visitors()
  let board: TestBoard
  let projectId: string
  beforeEach(async () => {
    ;({ board, projectId } = await startBoardWithProject())
  })
  afterEach(() => board.close())

  const add = (title: string) => board.client.cards.create({ projectId, title })
  const titles = (page: Page) => page.locator('.card-title').allInnerTexts()
  const card = (page: Page, title: string) => page.getByRole('link', { name: title, exact: true })
  const open = async () => {
    const visitor = await visit(board, { at: `#/projects/${projectId}` })
    await card(visitor.page, 'One').waitFor()
    await visitor.settled()
    return visitor
  }

  test('the menu of a card opens with the keyboard and at the pointer, and returns the focus', async () => {
    await add('One')
    await add('Two')
    const { page, axeViolations } = await open()
    const focused = () =>
      page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent')
    const actions = page.getByRole('button', { name: 'Actions for One' })
    await card(page, 'One').focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('menu', { name: 'Actions for One' }).waitFor()
    await expect.poll(focused).toBe('Openenter')
    expect(await axeViolations()).toEqual([])
    await page.keyboard.press('c')
    await expect.poll(focused).toBe('Copy link')
    await page.keyboard.press('Escape')
    await expect.poll(focused).toBe('Actions for One')
    await actions.click()
    await page.getByRole('menuitem', { name: 'Labels…' }).click()
    await page.getByRole('dialog', { name: 'Labels of card' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(focused).toBe('Actions for One')

    await card(page, 'Two').click({ button: 'right' })
    await page.getByRole('menu', { name: 'Actions for Two' }).waitFor()
    await page.mouse.click(900, 700)
    await page.getByRole('menu').waitFor({ state: 'detached' })
    expect(page.url()).not.toContain('beside')
    await card(page, 'Two').click({ button: 'right' })
    await page.getByRole('menuitem', { name: 'Archive' }).click()
    await expect.poll(() => titles(page)).toEqual(['One'])
  })

  test('a dialog and the undo of a change end when the person leaves the board', async () => {
    await add('One')
    await add('Two')
    const { page } = await open()
    await card(page, 'One').focus()
    await page.keyboard.press('A')
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.evaluate("location.hash = '#/me'")
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' })
    await page.goBack()
    await card(page, 'Two').waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
  })
})
