import { afterEach, describe, expect, test } from 'vitest'
import { ticketOf } from '../support/browsers/browser.ts'
import { noFirefox, openFirefox, type FirefoxWindow } from '../support/browsers/firefox.ts'
import { startBoardWithProject, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noFirefox !== undefined)('in Firefox', () => {
  let board: TestBoard
  let firefox: FirefoxWindow | undefined
  afterEach(async () => {
    await firefox?.close()
    await board.close()
  })

  test.each([
    ['a window', { width: 1280, height: 800 }],
    ['a phone', { width: 390, height: 844 }],
  ])('a user signs in, adds a card, moves it and finds it by keyboard alone, in %s', async (_, size) => {
    const { projectId, ...started } = await startBoardWithProject()
    board = started.board
    const { press, read, goTo, problems } = (firefox = await openFirefox(size))
    await goTo(`${board.url}/#/ticket/${await ticketOf(board)}/projects/${projectId}`)
    const texts = (selector: string) =>
      read(`[...document.querySelectorAll('${selector}')].map(each => each.textContent)`)
    const focused = () =>
      read('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent')
    await expect.poll(() => texts('.column h2')).toHaveLength(3)
    // The board's keys work once it is drawn.
    await expect.poll(() => press('n').then(focused)).toMatch('Title of a new card')
    await press(...'Roof', 'Enter')
    await expect.poll(() => texts('.column:nth-of-type(1) .card-title')).toEqual(['Roof'])
    await press('Escape')
    await expect.poll(focused).toBe('Roof')
    await press('c')
    await expect.poll(() => texts('[role=dialog] h2')).toHaveLength(1)
    await press('Escape')
    await expect.poll(() => texts('[role=dialog]')).toEqual([])
    await expect.poll(focused).toBe('Roof')
    await press('Control+k')
    await expect.poll(focused).toBe('Cards, boards, projects, actions')
    await press(...'roof')
    await expect.poll(() => texts('[role=dialog] [role=option]')).toEqual([expect.stringContaining('Roof')])
    await press('Enter')
    await expect.poll(() => texts('.opened-title h1, .opened-title h2')).toEqual(['Roof'])
    expect(await read('document.documentElement.scrollWidth - innerWidth')).toBe(0)
    expect(problems).toEqual([])
  })
})
