import { defaultShortcuts, type ShortcutAction } from '../../../src/contract/settings.ts'

/** Which keys do what: the keys of a sequence, with spaces between, and their action. */
export interface Keymap {
  sequences: ReadonlyMap<string, ShortcutAction>
  keysOf: Readonly<Record<ShortcutAction, readonly string[]>>
}

const actions = Object.keys(defaultShortcuts) as ShortcutAction[]

/** Reads the shortcuts of a person's settings: `j,down` means either key, `g g` one after the other. */
export function keymapOf(shortcuts: Readonly<Partial<Record<ShortcutAction, string>>>): Keymap {
  const keysOf = Object.fromEntries(
    actions.map(action => [
      action,
      (shortcuts[action] ?? defaultShortcuts[action])
        .split(',')
        .map(keys => keys.trim().split(/\s+/).map(nameOf).join(' '))
        .filter(Boolean),
    ]),
  ) as unknown as Record<ShortcutAction, string[]>
  return { keysOf, sequences: new Map(actions.flatMap(action => keysOf[action].map(keys => [keys, action] as const))) }
}

/** What keys that were pressed one after the other do: an action, nothing, or (`more`) nothing yet. */
export function actionOf({ sequences }: Keymap, pressed: readonly string[]): ShortcutAction | 'more' | undefined {
  const keys = pressed.join(' ')
  const action = sequences.get(keys)
  if (action) return action
  for (const sequence of sequences.keys()) if (sequence.startsWith(`${keys} `)) return 'more'
  return undefined
}

const others: Record<string, string> = {
  esc: 'escape',
  return: 'enter',
  del: 'delete',
  pgup: 'pageup',
  pgdn: 'pagedown',
  pagedn: 'pagedown',
}

/** A key's name in any spelling: one character as it is, a word or a combination in small letters. */
function nameOf(key: string): string {
  if ([...key].length === 1) return key
  const name = key.toLowerCase().replace(/^control\+|^c-/, 'ctrl+')
  return others[name] ?? name
}
