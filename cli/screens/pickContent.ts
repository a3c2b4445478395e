import type { ListItem } from '../ui/state/pickItem.ts'
import { pickItems, pickRows, pickTop } from '../ui/state/pickItems.ts'
import type { Model, PickDialog, Purpose } from '../ui/state/model.ts'
import type { Line } from '../ui/terminal/cells.ts'
import type { Theme } from './theme.ts'
import { spreadSpans, span } from './spans.ts'

/** A list to pick from: its title, the lines below its input field, and the help for its keys. */
export function pickContent(
  model: Model,
  dialog: PickDialog,
  theme: Theme,
  inside: number,
): { title: string; lines: Line[]; hint: string } {
  const items = pickItems(model, dialog)
  const rows = pickRows(model.size)
  const at = Math.min(dialog.at, items.length - 1)
  const place = items.length > rows ? `, ${at + 1} of ${items.length}` : ''
  return {
    title: titleOf(dialog.purpose),
    lines: listLines(items, at, { rows, inside, empty: emptyText(dialog.purpose) }, theme),
    hint: `${hintOf(dialog.purpose)}${place}`,
  }
}

/** Draws a list below a field: an empty line and the visible rows, which include the row under the cursor. */
export function listLines(
  items: readonly ListItem[],
  at: number,
  { rows, inside, empty: nothing = '' }: { rows: number; inside: number; empty?: string },
  { palette, glyphs }: Theme,
): Line[] {
  const top = pickTop(at, items.length, rows)
  const line = (item: ListItem, index: number): Line => {
    const isCurrent = index === at
    const style = isCurrent ? palette.cursor : ''
    const mark = item.mark === undefined ? [] : [span(`${markOf(item.mark)} `, style)]
    const aside = item.aside === undefined ? [] : [span(`${item.aside} `, isCurrent ? style : palette.dim)]
    const head = span(isCurrent ? `${glyphs.cursor} ` : '  ', style)
    const { spans } = spreadSpans([head, ...mark, span(item.text, style)], aside, inside, undefined, glyphs.ellipsis)
    return { spans: spans.map(each => (each.style ? each : { ...each, style })) }
  }
  const shown = items.slice(top, top + rows).map((item, index) => line(item, top + index))
  const empty: Line[] = shown.length > 0 ? [] : [{ spans: [span(nothing, palette.dim)] }]
  const blanks = Array.from({ length: Math.max(0, rows - shown.length - empty.length) }, (): Line => ({ spans: [] }))
  return [{ spans: [] }, ...shown, ...empty, ...blanks]
}

const markOf = (mark: NonNullable<ListItem['mark']>): string => ({ on: '[x]', some: '[-]', off: '[ ]' })[mark]

const forCards = (cardIds: readonly string[]): string =>
  cardIds.length === 1 ? `card ${cardIds[0]!}` : `${cardIds.length} cards`

function titleOf(purpose: Purpose): string {
  switch (purpose.type) {
    case 'go':
      return 'Go to, or run'
    case 'project':
      return 'Projects'
    case 'column':
      return `Send ${forCards(purpose.cardIds)} to`
    case 'agent':
      return `Agent of ${forCards(purpose.cardIds)}`
    case 'model':
      return `Model of ${purpose.choice.profile ?? purpose.choice.agent} for ${forCards(purpose.cardIds)}`
    case 'label':
      return `Labels of ${forCards(purpose.cardIds)}`
    case 'plan':
      return `Plan of ${forCards(purpose.cardIds)}`
  }
}

function hintOf({ type, ...purpose }: Purpose): string {
  if (type === 'label') return 'tab marks, enter applies, escape goes back'
  if (type === 'plan') return 'enter selects; type a date like 2030-01-31 or 3d, or an estimate'
  if (type === 'project' && (purpose as { isFirst: boolean }).isFirst) return 'enter opens, escape closes'
  return 'enter selects, escape goes back'
}

const emptyText = ({ type }: Purpose): string =>
  type === 'label' ? 'Type a label.' : type === 'agent' ? 'Reading ...' : 'No results.'
