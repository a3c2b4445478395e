import { paint, type Color, type Terminal } from './terminal.ts'
import { truncate, escapeControls, relativeTime, widthOf } from './text.ts'

/**
 * The format of a value on a terminal. `title` and `text` can be truncated, `time` is an ISO time shown relatively, `status` is
 * colored by its value.
 */
type Style = 'plain' | 'id' | 'title' | 'text' | 'time' | 'status' | 'dim'

/** One field of a row: a table column, a TSV field and a `--json` name. */
export interface Column<Row> {
  /** The name of the field in the API. `--json` uses it, and prefers the row's own value of that name. */
  name: string
  /** The table's head. Usually the name in capitals. */
  header?: string
  value: (row: Row) => unknown
  align?: 'left' | 'right'
  style?: Style
  /** Whether only `--json` shows the field. */
  hidden?: boolean
  /**
   * Whether a list omits the column if no row has a value. Only the last column of a list can be optional, so that scripts find the others.
   */
  optional?: boolean
  /** Whether the column is omitted if the terminal is too narrow for all columns. */
  spare?: boolean
}

/** One value as one line of harmless text. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return escapeControls(value)
  if (Array.isArray(value)) return value.map(cellText).join(', ')
  return typeof value === 'object' ? escapeControls(JSON.stringify(value)) : String(value)
}

/** Draws tab-separated lines without a header. FORCE_COLOR adds colors and changes nothing else. */
export const drawTabs = <Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { color }: Pick<Terminal, 'color'>,
): string =>
  rows
    .map(row => {
      const cells = columns.map(({ value, style }) => {
        const text = cellText(value(row))
        return color ? paint(text, colorOf(style, text), true) : text
      })
      return `${cells.join('\t')}\n`
    })
    .join('')

/** Draws one row of a continuous list: its fields next to each other, with clock times. */
export const drawLine = <Row>(row: Row, columns: readonly Column<Row>[], terminal: Terminal): string =>
  `${columns
    .map(({ value, style }) => {
      const text = style === 'time' ? clockTime(value(row)) : shownText(value(row), style)
      return paint(text, colorOf(style, text), terminal.color)
    })
    .join('  ')
    .trimEnd()}\n`

/** An aligned table with a head, cut to the terminal's width. */
export function drawTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], terminal: Terminal): string {
  const cells = rows.map(row => columns.map(column => shownText(column.value(row), column.style)))
  const heads = columns.map(column => column.header ?? column.name.toUpperCase())
  const wanted = heads.map((head, at) =>
    cells.reduce((widest, row) => Math.max(widest, widthOf(row[at]!)), widthOf(head)),
  )
  const spare = totalOf(wanted) > terminal.width ? columns.findLast(column => column.spare) : undefined
  if (spare)
    return drawTable(
      rows,
      columns.filter(column => column !== spare),
      terminal,
    )
  const widths = shrink(wanted, columns, terminal.width)
  // If the table is still too wide, drop columns from the right, except the ID and the title.
  const lost = totalOf(widths) > terminal.width ? columns.findLast(({ style }) => !isKept(style)) : undefined
  if (lost)
    return drawTable(
      rows,
      columns.filter(column => column !== lost),
      terminal,
    )
  const last = columns.findIndex(({ style }) => style === 'title')
  if (last >= 0) widths[last] = Math.max(1, widths[last]! - Math.max(0, totalOf(widths) - terminal.width))
  const drawRow = (texts: string[], style: (text: string, at: number) => string) =>
    texts
      .map((text, at) => pad(text, widths[at]!, columns[at]!.align, at === texts.length - 1, cut => style(cut, at)))
      .join('  ')
      .trimEnd()
  const lines = [
    drawRow(heads, text => paint(text, 'dim', terminal.color)),
    ...cells.map(row => drawRow(row, (text, at) => paint(text, colorOf(columns[at]!.style, row[at]!), terminal.color))),
  ]
  return `${lines.join('\n')}\n`
}

/** Draws named lines, one per field. */
export function drawRecord<Row>(row: Row, fields: readonly Column<Row>[], terminal: Terminal): string {
  const widest = fields.reduce((width, field) => Math.max(width, widthOf(labelOf(field))), 0)
  return fields
    .map(field => {
      const text = shownText(field.value(row), field.style)
      return (
        `${paint(`${labelOf(field)}:`.padEnd(widest + 2), 'dim', terminal.color)}${paint(text, colorOf(field.style, text), terminal.color)}`.trimEnd() +
        '\n'
      )
    })
    .join('')
}

const labelOf = <Row>(field: Column<Row>): string => {
  if (field.header !== undefined && /[a-z]/.test(field.header)) return field.header
  const head = field.header ?? field.name.replace(/([a-z])([A-Z])/g, '$1 $2')
  return head.charAt(0).toUpperCase() + head.slice(1).toLowerCase()
}

function shownText(value: unknown, style: Style | undefined): string {
  if (style === 'time' && typeof value === 'string') return relativeTime(value)
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : cellText(value)
}

const clockTime = (value: unknown): string =>
  typeof value === 'string' ? new Date(value).toTimeString().slice(0, 8) : cellText(value)

function pad(
  text: string,
  width: number,
  align: 'left' | 'right' | undefined,
  last: boolean,
  style: (text: string) => string,
): string {
  const cut = truncate(text, width)
  const space = ' '.repeat(Math.max(0, width - widthOf(cut)))
  if (align === 'right') return space + style(cut)
  return style(cut) + (last ? '' : space)
}

/** Shrinks the widest columns that can be truncated until the table fits, down to 12 cells each. */
function shrink<Row>(widths: number[], columns: readonly Column<Row>[], available: number): number[] {
  const result = [...widths]
  let over = totalOf(result) - available
  while (over > 0) {
    const widest = result.reduce(
      (best, width, at) => (mayBeCut(columns[at]!) && width > 12 && (best < 0 || width > result[best]!) ? at : best),
      -1,
    )
    if (widest < 0) return result
    result[widest]! -= 1
    over -= 1
  }
  return result
}

const totalOf = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, 2 * (widths.length - 1))

const isKept = (style: Style | undefined): boolean => style === 'id' || style === 'title'

const mayBeCut = <Row>({ style }: Column<Row>): boolean => style === 'title' || style === 'text'

/** The color of a card's status. */
export const statusColor = (status: string): Color | undefined => statusColors[status]

const statusColors: Record<string, Color> = {
  running: 'cyan',
  queued: 'blue',
  waiting: 'yellow',
  warning: 'yellow',
  completed: 'green',
  succeeded: 'green',
  passed: 'green',
  landed: 'green',
  testing: 'cyan',
  ok: 'green',
  failed: 'red',
  failing: 'red',
  timeout: 'red',
  error: 'red',
  info: 'cyan',
  warn: 'yellow',
  paused: 'yellow',
  interrupted: 'red',
  cancelled: 'magenta',
  rejected: 'magenta',
}

function colorOf(style: Style | undefined, text: string): Color | undefined {
  if (style === 'title') return 'bold'
  if (style === 'id') return 'cyan'
  if (style === 'status') return statusColors[text]
  return style === 'time' || style === 'dim' ? 'dim' : undefined
}
