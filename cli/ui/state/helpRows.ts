import type { ShortcutAction } from '../../../src/contract/settings.ts'
import type { Keymap } from './keymap.ts'

export interface HelpRow {
  keys: string
  text: string
}

const meanings: Record<ShortcutAction, string> = {
  left: 'go to the column on the left',
  down: 'go down',
  up: 'go up',
  right: 'go to the column on the right',
  top: 'go to the first card',
  bottom: 'go to the last card',
  pageDown: 'go down a page',
  pageUp: 'go up a page',
  moveLeft: 'move the card one column to the left',
  moveRight: 'move the card one column to the right',
  moveDown: 'move the card down',
  moveUp: 'move the card up',
  select: 'select the card, or no longer',
  selectAll: 'select all cards of the column, or none',
  filter: 'show only cards with these words',
  jump: 'jump to a card by its id, or to a column or board by its name',
  open: 'open the card',
  back: 'go back; clear the selection, then the filter',
  nextTab: 'next tab of the card: prompt, transcript, diff',
  add: 'add a card',
  edit: 'edit title and prompt in your editor',
  run: 'run the agent of the card',
  cancel: 'cancel the agent of the card',
  approve: 'approve what the agent asks, or the next step',
  send: 'send the agent a message',
  archive: 'archive the card',
  undo: 'undo the last move or archiving',
  help: 'show this help',
  quit: 'close the card; leave',
}
const inCard: Partial<Record<ShortcutAction, string>> = {
  left: 'previous tab',
  right: 'next tab',
  top: 'go to the beginning',
  bottom: 'go to the end, and follow the agent',
  back: 'back to the board',
  quit: 'back to the board',
}
const boardOnly: ReadonlySet<ShortcutAction> = new Set([
  'moveLeft',
  'moveRight',
  'moveDown',
  'moveUp',
  'select',
  'selectAll',
  'filter',
  'open',
  'add',
  'undo',
])

/** What the keys do, as far as it has the words that one looks for. */
export function helpRows({ keysOf }: Keymap, filter: string, isCard: boolean): HelpRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  return (Object.keys(meanings) as ShortcutAction[])
    .filter(action => !isCard || !boardOnly.has(action))
    .map(action => ({
      keys: keysOf[action].map(shownKeys).join(' or '),
      text: (isCard ? inCard[action] : undefined) ?? meanings[action],
    }))
    .filter(({ keys, text }) => words.every(word => `${keys} ${text}`.toLowerCase().includes(word)))
}

/** `g g` is pressed as gg. */
export const shownKeys = (keys: string): string =>
  keys.split(' ').every(key => key.length === 1) ? keys.replaceAll(' ', '') : keys
