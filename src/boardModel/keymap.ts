import { defaultShortcuts, type ShortcutAction } from '../contract/accounts/shortcuts.ts'

/** A user-defined command that a key runs. */
interface OwnCommand {
  key: string
}

/** The key bindings: the keys of a sequence, separated by spaces, and their actions. */
export interface Keymap<Own extends OwnCommand = never> {
  /** The action of the board, or the user's command, for each sequence. */
  sequences: ReadonlyMap<string, ShortcutAction | Own>
  keysOf: Readonly<Record<ShortcutAction, readonly string[]>>
}

const actions = Object.keys(defaultShortcuts) as ShortcutAction[]

/**
 * Parses the shortcuts of a user's settings: `j,down` means either key, `g g` one after the other. User commands take precedence
 * over shortcuts, and a user's own choice over a default, which can be newer than the choice.
 */
export function keymapOf<Own extends OwnCommand = never>(
  shortcuts: Readonly<Partial<Record<ShortcutAction, string>>>,
  commands: readonly Own[] = [],
): Keymap<Own> {
  const ownKeys = commands.map(({ key }) => sequenceOf(key))
  const chosen = actions.filter(action => (shortcuts[action] ?? defaultShortcuts[action]) !== defaultShortcuts[action])
  const isChosen = new Set(chosen)
  const chosenKeys = chosen.flatMap(action => keysIn(shortcuts[action]!))
  const keysOf = Object.fromEntries(
    actions.map(action => {
      const taken = isChosen.has(action) ? ownKeys : [...ownKeys, ...chosenKeys]
      const keys = keysIn(shortcuts[action] ?? defaultShortcuts[action])
      return [action, keys.filter(key => !taken.some(other => hasKeyConflict(key, other)))]
    }),
  ) as unknown as Record<ShortcutAction, string[]>
  return {
    keysOf,
    sequences: new Map<string, ShortcutAction | Own>([
      ...actions.flatMap(action => keysOf[action].map(keys => [keys, action] as const)),
      ...commands.map((command, at) => [ownKeys[at]!, command] as const),
    ]),
  }
}

/** The action bound to a sequence of keys: found, none, or (`more`) incomplete. */
export function bindingOf<Own extends OwnCommand>(
  { sequences }: Keymap<Own>,
  pressed: readonly string[],
): ShortcutAction | Own | 'more' | undefined {
  const keys = pressed.join(' ')
  const binding = sequences.get(keys)
  if (binding) return binding
  for (const sequence of sequences.keys()) if (sequence.startsWith(`${keys} `)) return 'more'
  return undefined
}

/** Whether one sequence hides the other: they are equal, or one begins with the other. */
export const hasKeyConflict = (a: string, b: string): boolean =>
  a === b || a.startsWith(`${b} `) || b.startsWith(`${a} `)

/** The sequences of a shortcut: `j,down` are two. */
export const keysIn = (keys: string): string[] => keys.split(',').map(sequenceOf).filter(Boolean)
const sequenceOf = (keys: string): string => keys.trim().split(/\s+/).map(nameOf).join(' ')

const others: Record<string, string> = {
  esc: 'escape',
  return: 'enter',
  del: 'delete',
  pgup: 'pageup',
  pgdn: 'pagedown',
  pagedn: 'pagedown',
}

/** The canonical name of a key: one character verbatim, a word or a combination in lower case. */
function nameOf(key: string): string {
  if ([...key].length === 1) return key
  const name = key.toLowerCase().replace(/^control\+|^c-/, 'ctrl+')
  return others[name] ?? name
}
