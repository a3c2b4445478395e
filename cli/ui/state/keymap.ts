import { defaultShortcuts, type ShortcutAction } from '../../../src/contract/settings.ts'
import type { UserCommand } from '../../context/userCommands.ts'

/** What keys do: an action of the board, or a command of the person's. */
export type Binding = ShortcutAction | UserCommand

/** Which keys do what: the keys of a sequence, with spaces between, and what they do. */
export interface Keymap {
  sequences: ReadonlyMap<string, Binding>
  keysOf: Readonly<Record<ShortcutAction, readonly string[]>>
}

const actions = Object.keys(defaultShortcuts) as ShortcutAction[]

/**
 * Reads the shortcuts of a person's settings: `j,down` means either key, `g g` one after the other. Keys of the person's own
 * commands go before them, and a default yields to what the person has chosen: it may be newer than the choice.
 */
export function keymapOf(
  shortcuts: Readonly<Partial<Record<ShortcutAction, string>>>,
  commands: readonly UserCommand[] = [],
): Keymap {
  const ownKeys = commands.map(({ key }) => sequenceOf(key))
  const chosen = actions.filter(action => (shortcuts[action] ?? defaultShortcuts[action]) !== defaultShortcuts[action])
  const isChosen = new Set(chosen)
  const chosenKeys = chosen.flatMap(action => keysIn(shortcuts[action]!))
  const keysOf = Object.fromEntries(
    actions.map(action => {
      const taken = isChosen.has(action) ? ownKeys : [...ownKeys, ...chosenKeys]
      const keys = keysIn(shortcuts[action] ?? defaultShortcuts[action])
      return [action, keys.filter(key => !taken.some(other => clash(key, other)))]
    }),
  ) as unknown as Record<ShortcutAction, string[]>
  return {
    keysOf,
    sequences: new Map<string, Binding>([
      ...actions.flatMap(action => keysOf[action].map(keys => [keys, action] as const)),
      ...commands.map((command, at) => [ownKeys[at]!, command] as const),
    ]),
  }
}

/** What keys that were pressed one after the other do: something, nothing, or (`more`) nothing yet. */
export function bindingOf({ sequences }: Keymap, pressed: readonly string[]): Binding | 'more' | undefined {
  const keys = pressed.join(' ')
  const binding = sequences.get(keys)
  if (binding) return binding
  for (const sequence of sequences.keys()) if (sequence.startsWith(`${keys} `)) return 'more'
  return undefined
}

/** One sequence hides the other: they are the same, or one begins with the other. */
const clash = (a: string, b: string): boolean => a === b || a.startsWith(`${b} `) || b.startsWith(`${a} `)

const keysIn = (keys: string): string[] => keys.split(',').map(sequenceOf).filter(Boolean)
const sequenceOf = (keys: string): string => keys.trim().split(/\s+/).map(nameOf).join(' ')

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
