import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('the base components, in the browser', () => {
  const visit = visitors()
  let board: TestBoard
  beforeAll(async () => {
    board = await startBoard()
  })
  afterAll(() => board.close())
  const at = '#/design'

  test.each([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['forced colors', { forcedColors: 'active' }],
    ['on a phone', { viewport: { width: 360, height: 740 }, hasTouch: true }],
  ] as const)('have no axe violation, closed and open (%s)', async (_, options) => {
    const { page, axeViolations, settled } = await visit(board, { at, ...options })
    // One part is in the theme of the page, and a list above the page as well.
    const part = page.getByRole('region', { name: 'Theme light' })
    await part.getByRole('heading', { name: 'Tokens' }).waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    const open = async (role: 'button' | 'combobox', name: string) => {
      await part.getByRole(role, { name, exact: true }).click()
      await settled()
      expect(await axeViolations(), name).toEqual([])
      await page.keyboard.press('Escape')
      await settled()
    }
    await open('combobox', 'Select')
    await open('combobox', 'Combobox')
    await open('combobox', 'Add agent')
    await open('button', 'Menu')
    await open('button', 'Dialog')
    await open('button', 'Question')
    await open('button', 'Error message')
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  })

  test('a select and a combobox work by pointer and by keyboard', async () => {
    const { page } = await visit(board, { at })
    const part = page.getByRole('region', { name: 'Theme light' })
    const select = part.getByRole('combobox', { name: 'Select', exact: true })
    await choose(select, 'Admin')
    expect(await select.innerText()).toBe('Admin')
    await select.focus()
    await page.getByRole('option', { name: 'Viewer', includeHidden: true }).waitFor({ state: 'attached' })
    await page.keyboard.type('V')
    await expect.poll(() => select.innerText()).toBe('Viewer')
    await page.keyboard.press('Enter')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await expect.poll(() => select.innerText()).toBe('Member')

    const combobox = part.getByRole('combobox', { name: 'Combobox', exact: true })
    await choose(combobox, 'Agent 7')
    expect(await combobox.innerText()).toBe('Agent 7')
    await combobox.focus()
    await page.keyboard.type('nt 29')
    await page.getByRole('option', { name: 'Agent 29' }).waitFor()
    expect(await page.getByRole('option').count()).toBe(1)
    expect(await combobox.innerText()).toBe('Agent 7')
    await page.keyboard.press('Enter')
    await expect.poll(() => combobox.innerText()).toBe('Agent 29')

    await part.getByRole('combobox', { name: 'Add agent' }).click()
    await page.keyboard.type('Zed')
    await page.getByRole('option', { name: 'New agent: Zed' }).click()
    await page.getByText('Zed', { exact: true }).waitFor()
  })

  test('a tooltip shows the name and the shortcut of a button, and Escape closes it', async () => {
    const { page } = await visit(board, { at })
    const part = page.getByRole('region', { name: 'Theme light' })
    const search = part.getByRole('button', { name: 'Search', exact: true })
    const tooltip = page.locator('.tooltip')
    await search.hover()
    await expect.poll(() => tooltip.innerText()).toMatch(/^Search\s+Ctrl-K$/)
    await page.keyboard.press('Escape')
    await tooltip.waitFor({ state: 'detached' })
    await part.getByRole('button', { name: 'With icon' }).focus()
    await page.keyboard.press('Tab')
    await expect.poll(() => tooltip.innerText()).toBe('Edit')
    await page.keyboard.press('Tab')
    await expect.poll(() => tooltip.innerText()).toMatch(/^Search/)
    await part.getByRole('button', { name: 'With tooltip' }).hover()
    await expect.poll(() => tooltip.innerText()).toBe('The tooltip describes the effect')
  })
})
