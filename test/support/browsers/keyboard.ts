import type { Page } from 'playwright-core'

/** A user without a mouse. */
export interface Keyboard {
  /** The accessible name of the focused element; "nothing" if the focus is lost. */
  focused(): Promise<string>
  /** The name of the part of the page, or the dialog, with the focus. */
  focusedIn(): Promise<string>
  /** Presses Tab, or Shift+Tab, until an element with this name has the focus. Every element on the way must show its focus. */
  tabTo(name: RegExp, options?: { back?: boolean }): Promise<void>
  /** Moves the focus to an element and presses a key, by default Enter. */
  press(name: RegExp, key?: string): Promise<void>
}

/** Uses a page with its keys only. @throws if no Tab leads further, and if the focus is not visible */
export function keyboardOf(page: Page): Keyboard {
  const focused = () => page.evaluate<string>(nameOfFocused)
  const tabTo: Keyboard['tabTo'] = async (name, { back = false } = {}) => {
    for (let steps = 0; steps < 120; steps++) {
      if (name.test(await focused())) return
      await page.keyboard.press(back ? 'Shift+Tab' : 'Tab')
      const unseen = await page.evaluate<string | undefined>(unseenFocus)
      if (unseen !== undefined) throw new Error(`The focus is not seen at ${unseen}`)
    }
    throw new Error(`No tab leads to ${name}`)
  }
  return {
    focused,
    focusedIn: () => page.evaluate<string>(partOfFocused),
    tabTo,
    press: async (name, key = 'Enter') => {
      await tabTo(name)
      await page.keyboard.press(key)
    },
  }
}

const called = `const called = element =>
  (element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent ?? '').trim()
const { activeElement: element, body } = document`

const nameOfFocused = `(() => { ${called}; return element === body ? 'nothing' : called(element) })()`

const partOfFocused = `(() => {
  ${called}
  const part = element.closest('[role=dialog], [role=alertdialog], section[aria-label], [aria-label]:is(ul), main, aside, .panel, .opened-head')
  const heading = part?.querySelector('h1, h2, h3')
  return element === body ? 'nothing' : part?.getAttribute('aria-label') ?? heading?.textContent ?? 'no part'
})()`

/** Finds a focused element without a visible focus. A list shows it by its background, a card's title and a line of a diff by their surroundings. */
const unseenFocus = `(() => {
  ${called}
  if (element === body) return
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const { width, height, bottom, right, top, left } = element.getBoundingClientRect()
  const isInWindow = width > 0 && height > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth
  if (!isInWindow || outlineStyle === 'none' || parseFloat(outlineWidth) === 0) return called(element) || element.outerHTML
})()`
