import { meanings, shownKeys } from '../../../src/boardModel/actionMeanings.ts'
import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import type { Model } from './model.ts'

export interface HelpRow {
  keys: string
  text: string
}

const inCard: Partial<Record<ShortcutAction, string>> = {
  left: 'previous tab',
  right: 'next tab',
  top: 'go to the beginning',
  bottom: 'go to the end, and follow the agent',
  back: 'return to the board',
  quit: 'return to the board',
}
/** Actions that an opened card does not have. */
export const boardOnly: ReadonlySet<ShortcutAction> = new Set([
  'moveLeft',
  'moveRight',
  'moveDown',
  'moveUp',
  'select',
  'selectAll',
  'filter',
  'sort',
  'density',
  'preview',
  'open',
  'add',
  'undo',
  'redo',
])

/** The shortcuts that match the search words. User commands come last. */
export function helpRows(
  { keymap, commands, opened }: Pick<Model, 'keymap' | 'commands' | 'opened'>,
  filter: string,
): HelpRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const rows = (Object.keys(meanings) as ShortcutAction[])
    .filter(action => action !== 'table' && !(opened && boardOnly.has(action)))
    .map(action => ({
      keys: keymap.keysOf[action].map(shownKeys).join(' or '),
      text: (opened ? inCard[action] : undefined) ?? meanings[action],
    }))
  const own = commands.map(({ key, name }) => ({ keys: shownKeys(key), text: `${name} (your command)` }))
  return [...rows, ...own].filter(({ keys, text }) =>
    words.every(word => `${keys} ${text}`.toLowerCase().includes(word)),
  )
}
