import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { keyboardOf } from './keyboard.ts'

interface Work {
  login: { email: string; password: string }
  /** Waits for the end of the card's agent, which writes hello.txt. */
  untilCompleted(cardId: string): Promise<unknown>
}

/** Signs in on a board's page, adds a card, starts its agent, reads its changes and merges them, all without a mouse. */
export async function workByKeyboard(page: Page, { login, untilCompleted }: Work): Promise<void> {
  const { focused, tabTo } = keyboardOf(page)
  await page.getByRole('heading', { name: 'Sign in to board' }).waitFor()
  await tabTo(/^Email/)
  await page.keyboard.type(login.email)
  await tabTo(/^Password/)
  await page.keyboard.type(login.password)
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Backlog' }).waitFor()
  // The user's shortcuts load a moment after the board.
  const title = page.getByLabel(/^Title of a new card/)
  const isOpen = async () => {
    if ((await title.count()) === 0) await page.keyboard.press('n')
    return title.count()
  }
  await expect.poll(isOpen, { interval: 500 }).toBe(1)
  await tabTo(/^Title of a new card/)
  await page.keyboard.type('Write a file')
  await page.keyboard.press('Enter')
  const card = page.getByRole('link', { name: 'Write a file' })
  await card.waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(focused).toBe('Write a file')
  await page.keyboard.press('r')
  await untilCompleted(idOf((await card.getAttribute('href'))!))
  await expect.poll(focused).toBe('Write a file')
  await page.keyboard.press('Enter')
  await page.getByRole('tab', { name: 'Changes' }).waitFor()
  // The panel has the focus, and the same name.
  await page.keyboard.press('Tab')
  await tabTo(/^Activity$/)
  await page.keyboard.press('ArrowRight')
  await expect.poll(focused).toMatch(/^Changes/)
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'hello.txt' }).waitFor()
  await tabTo(/^Merge…/)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await tabTo(/^Merge$/)
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Merge' }).getByText('Merged into main as').waitFor()
}

const idOf = (href: string): string => /\d+$/.exec(href)![0]
