import { defaultUserSettings } from '../../../src/contract/accounts/defaultUserSettings.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { showError } from './messages.ts'
import { client } from './session.ts'
import { Store } from './store.ts'

export type UserSettings = Output<Contract['settings']['getUser']>
export type Shortcuts = Output<Contract['settings']['getShortcuts']>

/** The person's settings, which apply in every browser and in the terminal. */
export const settings = new Store<UserSettings>(defaultUserSettings)
/** The user's shortcuts. Empty until they are loaded, so that the defaults apply. */
export const shortcuts = new Store<Partial<Shortcuts>>({})

let changes = 0

/** Reads the settings and the shortcuts. If that fails, the defaults apply. Changes during the read always win. */
export async function loadSettings(): Promise<void> {
  const before = changes
  const [mine, keys] = await Promise.all([client.settings.getUser(), client.settings.getShortcuts()])
  if (changes !== before) return loadSettings()
  settings.set(mine)
  shortcuts.set(keys)
}

/** Changes settings immediately and on the server. Reverts the change if the server rejects it. */
export async function changeSettings(change: Partial<UserSettings>): Promise<void> {
  const before = settings.get()
  changes++
  settings.set({ ...before, ...change })
  try {
    settings.set(await client.settings.setUser(change))
  } catch (error) {
    settings.set(before)
    showError(error)
  }
}

/** Changes the keys of some actions. */
export async function changeShortcuts(change: Partial<Shortcuts>): Promise<void> {
  const changed = await client.settings.setShortcuts(change)
  changes++
  shortcuts.set(changed)
}

const prefersDark = matchMedia('(prefers-color-scheme: dark)')

/** Renders the page in the selected color scheme, or in that of the system. */
export function applyTheme(): void {
  const draw = () => {
    const { theme, highContrast } = settings.get()
    const { dataset } = document.documentElement
    dataset.theme = theme === 'system' ? (prefersDark.matches ? 'dark' : 'light') : theme
    dataset.contrast = highContrast ? 'high' : 'normal'
  }
  settings.subscribe(draw)
  prefersDark.addEventListener('change', draw)
  draw()
}
