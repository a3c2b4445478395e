import type { Locator, Page } from 'playwright-core'

/** Opens the menu of a row, and runs one of its actions. */
export async function actOn(page: Page, name: string | RegExp, action: string): Promise<void> {
  await openActions(page, name)
  await page.getByRole('menuitem', { name: action }).click()
}

/** Opens the menu of a row. @returns its actions */
export async function openActions(page: Page, name: string | RegExp): Promise<Locator> {
  const label = typeof name === 'string' ? `Actions for ${name}` : name
  await page.getByRole('button', { name: label }).click()
  await page.getByRole('menuitem').first().waitFor()
  return page.getByRole('menuitem')
}
