import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'

/** Text that would run a script, load a file or reverse its surroundings if a page did not escape it. */
const hostile = '<img src=x onerror="window.wasRun=1">\u202e<script>window.wasRun=1</script>'

describe.skipIf(noBrowser !== undefined)('every page', () => {
  const visit = visitors()
  let board: AgentBoard
  let places: string[]

  beforeAll(async () => {
    board = await startAgentBoard({ well: { fixture: 'well-behaved' } })
    const { client, projectId } = board
    await client.projects.update({ id: projectId, name: hostile })
    const { id } = await board.start('well')
    await board.untilStatus(id, 'completed')
    const card = await client.cards.get({ projectId, cardId: id })
    await client.cards.update({
      projectId,
      cardId: id,
      title: hostile,
      prompt: hostile,
      labels: [hostile.slice(0, 50)],
    })
    await client.columns.update({ projectId, columnId: card.columnId, name: hostile.slice(0, 60) })
    await client.scripts.create({ projectId, name: hostile.slice(0, 60), command: 'true' })
    writeFileSync(join(board.path, 'board.json'), JSON.stringify({ setup: hostile, copiedFiles: [hostile] }))
    const at = `#/projects/${projectId}`
    const cardAt = `${at}/cards/${id}`
    places = [
      '#/',
      at,
      `${at}/beside/${id}`,
      cardAt,
      `${cardAt}/activity?show=history`,
      `${cardAt}/changes`,
      `${at}/assistant`,
    ]
    places.push(`${at}/charts`, `${at}/settings`, '#/admin', '#/me', '#/design', '#/nowhere')
  }, 60_000)
  afterAll(() => board.close())

  /** The sections of the open page. */
  const sectionsOf = async (page: Page): Promise<string[]> => {
    const links = page
      .getByRole('navigation', { name: 'Settings' })
      .or(page.getByRole('navigation', { name: 'Administration' }))
    const found = await links
      .getByRole('link')
      .evaluateAll(all => all.map(link => (link as unknown as { hash: string }).hash))
    return found.filter(href => href.startsWith('#/'))
  }

  test.each([
    ['in the light theme', { colorScheme: 'light' }],
    ['in the dark theme', { colorScheme: 'dark' }],
    ['on a phone', { colorScheme: 'light', viewport: { width: 360, height: 780 }, hasTouch: true }],
  ] as const)(
    'has no violations of WCAG 2.2 %s, shows user input as text, and is as wide as the window',
    async (_, options) => {
      const { page, axeViolations, settled } = await visit(board, options)
      await page.getByRole('main').waitFor()
      await settled()
      const seen = new Set<string>()
      const faults: string[] = []
      for (const place of places) {
        await goTo(page, board.url, place)
        await settled()
        for (const each of [place, ...(await sectionsOf(page))]) {
          if (seen.has(each)) continue
          seen.add(each)
          await goTo(page, board.url, each)
          await settled()
          faults.push(...(await axeViolations()).map(barrier => `${each}: ${barrier}`))
          const width = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')
          const [content, window] = width as [number, number]
          if (content > window) faults.push(`${each}: is ${content} wide in a window of ${window}`)
        }
      }
      expect(faults).toEqual([])
      expect(await page.evaluate('window.wasRun')).toBe(undefined)
      expect(seen.size).toBeGreaterThan(20)
    },
  )
})

const goTo = (page: Page, url: string, place: string) => page.goto(`${url}/${place}`)
