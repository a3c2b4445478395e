import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { eventually } from '../support/waiting/eventually.ts'

/** Records the page's browser notifications, and lets a test set whether the tab is visible. */
const recorder = `{
  window.asked = 0
  window.shown = []
  window.isAway = false
  Object.defineProperty(document, 'hidden', { get: () => window.isAway })
  const Real = window.Notification
  window.Notification = new Proxy(Real, {
    construct(target, [title, options]) {
      const notification = new target(title, options)
      window.shown.push({ title, body: options.body, notification })
      return notification
    },
    get: (target, name) =>
      name === 'permission' ? (window.asked > 0 ? target.permission : 'default')
      : name === 'requestPermission' ? () => (window.asked++, target.requestPermission())
      : target[name],
  })
}`

describe.skipIf(noBrowser !== undefined)('one’s own settings', () => {
  const visit = visitors()
  let board: AgentBoard
  beforeEach(async () => {
    board = await startAgentBoard({ works: { fixture: 'well-behaved' } })
  })
  afterEach(() => board.close())

  const shown = (page: Page) => page.evaluate('window.shown.map(({ title }) => title)')

  test('browser notifications are requested only by the button, shown for a hidden tab, and lead to their card', async () => {
    const { page, settled } = await visit(board, { at: '#/me/notifications', permissions: ['notifications'] })
    await page.getByRole('button', { name: /^Account of/ }).waitFor()
    await page.addInitScript(recorder)
    await page.reload()
    await page.getByRole('checkbox', { name: 'System notifications' }).check()
    const allow = page.getByRole('button', { name: 'Allow notifications' })
    await allow.waitFor()
    expect(await page.evaluate('window.asked')).toBe(0)
    await allow.click()
    await page.getByText('This browser shows notifications.').waitFor()
    expect(await page.evaluate('window.asked')).toBe(1)
    // The listener for notifications is loaded after the page.
    await settled()
    await page.getByText('live', { exact: true }).waitFor()

    const seen = await board.start('works', { title: 'Seen' })
    await page.getByText('Seen: ').waitFor()
    await board.untilStatus(seen.id, 'completed')
    expect(await shown(page)).toEqual([])
    await page.evaluate('window.isAway = true')
    const { id } = await board.start('works', { title: 'Unseen' })
    await eventually('the notification', async () => ((await shown(page)) as string[]).includes('Unseen'))
    expect(await shown(page)).toEqual(['Unseen'])
    await page.evaluate('window.shown[0].notification.dispatchEvent(new Event("click"))')
    await page.getByRole('heading', { name: 'Unseen' }).waitFor()
    await expect.poll(() => page.url()).toBe(`${board.url}/#/projects/${board.projectId}/cards/${id}`)
  })

  test('a key that is changed in the settings works on the board, and the old one has no effect', async () => {
    const { projectId } = board
    await board.client.cards.create({ projectId, title: 'First' })
    const { page, settled } = await visit(board, { at: '#/me/shortcuts' })
    await settled()
    await page.getByRole('button', { name: 'Change keys: add a card' }).click()
    await page.getByLabel('Press one key, or two keys in sequence').press('i')
    await page.getByRole('button', { name: 'Replace keys' }).click()
    await page.getByRole('button', { name: 'Reset keys: add a card' }).waitFor()

    const projects = page.getByRole('navigation', { name: 'Projects' })
    await projects.getByRole('link', { name: 'Agents' }).click()
    await page.getByRole('link', { name: 'First' }).focus()
    await settled()
    const field = page.getByRole('textbox', { name: /^Title of a new card/ })
    await page.keyboard.press('n')
    await page.keyboard.press('i')
    await field.waitFor()
    await expect.poll(() => field.inputValue()).toBe('')
  })
})
