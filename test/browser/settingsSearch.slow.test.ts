import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { adminSettings, mySettings, projectSettings } from '../../daemon/web/app/settingNames.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { startBoardWithProject, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('the search of the settings', () => {
  const visit = visitors()
  let board: TestBoard
  let token: string
  let projectId: string
  beforeEach(async () => {
    ;({ board, projectId } = await startBoardWithProject())
    ;({ token } = await board.client.auth.setup({
      email: 'ada@example.org',
      password: 'correct horse',
      displayName: 'Ada',
    }))
  })
  afterEach(() => board.close())

  const focused = (page: Page) => page.locator(':focus')

  test('finds sections and settings by their words, opens a setting by keyboard, and focuses it', async () => {
    const { page, axeViolations, settled } = await visit(
      { url: board.url, token },
      { at: `#/projects/${projectId}/settings/webhooks` },
    )
    const nav = page.getByRole('navigation', { name: 'Settings' })
    await page.getByText('No webhooks.').waitFor()
    const all = await nav.getByRole('link').count()
    await page.keyboard.press('/')
    await focused(page)
      .and(page.getByRole('searchbox', { name: 'Search: Settings' }))
      .waitFor()
    await page.keyboard.type('remove work')
    expect(await nav.getByRole('link').allTextContents()).toEqual(['General', 'Remove the worktree of the card'])
    await settled()
    expect(await axeViolations()).toEqual([])
    await page.keyboard.press('Enter')
    await focused(page)
      .and(page.getByRole('checkbox', { name: 'Remove the worktree of the card' }))
      .waitFor()
    expect(page.url()).toContain('/settings/general')

    await page.getByRole('searchbox').fill('hook')
    expect(await nav.getByRole('link').allTextContents()).toEqual(['Forge', 'Webhook', 'Webhooks', 'New webhook'])
    await page.getByRole('searchbox').fill('nonsense')
    await nav.getByText('No results').waitFor()
    await page.getByRole('searchbox').press('Escape')
    expect(await nav.getByRole('link').count()).toBe(all)
  })

  test('shows only the matching rows of the current section', async () => {
    for (const name of ['build', 'deploy'])
      await board.as(token).scripts.create({ projectId, name, command: `make ${name}` })
    const { page } = await visit({ url: board.url, token }, { at: `#/projects/${projectId}/settings/scripts` })
    const rows = page.getByRole('list', { name: 'Scripts' }).getByRole('listitem')
    await rows.getByText('build', { exact: true }).waitFor()
    await page.getByRole('searchbox').fill('dep')
    await rows.getByText('build', { exact: true }).waitFor({ state: 'detached' })
    expect(await rows.count()).toBe(1)
    await page.getByRole('searchbox').fill('script')
    expect(await rows.count()).toBe(2)
  })

  test('knows only settings that their sections show', async () => {
    const { page } = await visit({ url: board.url, token }, { at: '#/me' })
    const missing: string[] = []
    for (const [place, settings] of [
      [`projects/${projectId}/settings`, projectSettings],
      ['admin', adminSettings],
      ['me', mySettings],
    ] as const)
      for (const [section, names] of Object.entries(settings)) {
        await page.goto(`${board.url}/#/${place}/${section}`)
        await page.locator('.section h2').waitFor()
        for (const name of names) {
          const shown = page.locator('.section :is(label, legend, h3, button, strong)', { hasText: name })
          await shown
            .first()
            .waitFor({ timeout: 5000 })
            .catch(() => missing.push(`${place}/${section}: ${name}`))
        }
      }
    expect(missing).toEqual([])
  })
})
