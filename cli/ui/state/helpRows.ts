import type { ShortcutAction } from '../../../src/contract/settings.ts'
import type { Model } from './model.ts'

export interface HelpRow {
  keys: string
  text: string
}

/** What each action does, for the help and the list of `:`. */
export const meanings: Record<ShortcutAction, string> = {
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
  moveTo: 'send the card to a column by its name',
  filter: 'show only cards with these words',
  jump: 'go to a card by id or words, a column, board or project; or do what has a name',
  project: 'go to another project',
  sort: 'sort the columns: as on the board, latest changed, status, title',
  density: 'one line a card, or several',
  preview: 'show the card under the cursor beside the board, on wide terminals',
  open: 'open the card',
  back: 'go back; clear the selection, then the filter',
  nextTab: 'next tab of the card: prompt, transcript, diff',
  add: 'add a card',
  edit: 'edit title and prompt in your editor',
  run: 'run the agent of the card',
  cancel: 'cancel the agent of the card',
  approve: 'approve what the agent asks, or the next step',
  send: 'send the agent a message',
  agent: "choose the card's agent",
  label: 'put labels on the card or take them off',
  merge: "merge the card's branch",
  archive: 'archive the card',
  delete: 'delete the card',
  undo: 'undo the last move or archiving; again, the one before',
  redo: 'do again what was undone',
  browser: 'show the card in your browser',
  copyId: "copy the card's id",
  copyTitle: "copy the card's title",
  copyBranch: "copy the name of the card's branch",
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
/** What an opened card has no use for. */
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

/** What the keys do, as far as it has the words that one looks for. The person's own commands come last. */
export function helpRows(
  { keymap, commands, opened }: Pick<Model, 'keymap' | 'commands' | 'opened'>,
  filter: string,
): HelpRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const rows = (Object.keys(meanings) as ShortcutAction[])
    .filter(action => !opened || !boardOnly.has(action))
    .map(action => ({
      keys: keymap.keysOf[action].map(shownKeys).join(' or '),
      text: (opened ? inCard[action] : undefined) ?? meanings[action],
    }))
  const own = commands.map(({ key, name }) => ({ keys: shownKeys(key), text: `${name} (your command)` }))
  return [...rows, ...own].filter(({ keys, text }) =>
    words.every(word => `${keys} ${text}`.toLowerCase().includes(word)),
  )
}

/** `g g` is pressed as gg. */
export const shownKeys = (keys: string): string =>
  keys.split(' ').every(key => key.length === 1) ? keys.replaceAll(' ', '') : keys
