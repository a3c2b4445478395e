import type { Locator } from 'playwright-core'

/** Chooses an option of a select or a combobox by its text. */
export async function choose(control: Locator, text: string | RegExp): Promise<void> {
  const page = control.page()
  // The list has the same name.
  await control.and(page.getByRole('combobox')).click()
  await page.getByRole('option', typeof text === 'string' ? { name: text, exact: true } : { name: text }).click()
  // The list covers the page until its motion ends.
  await page.getByRole('option').first().waitFor({ state: 'detached' })
}
