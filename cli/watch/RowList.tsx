import { Box, Text, useApp, useInput } from 'ink'
import type { Column } from '../output/output.ts'
import { drawTable } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { escapeControls } from '../output/text.ts'

export interface Rows<Row> {
  rows: readonly Row[]
  /** Whether there are more rows than these. */
  more: boolean
}
export interface RowListProps<Row> extends Rows<Row> {
  title: string
  /** The noun for one row: `card`. */
  noun: string
  columns: readonly Column<Row>[]
  /** False while the connection is broken and no changes arrive. */
  live: boolean
  terminal: Terminal
}

/** The lines that are not rows: title, table head, an empty line, footer. */
const frameLines = 4

/** A table as high as the terminal. `q` ends it. */
export function RowList<Row>({ title, noun, columns, rows, more, live, terminal }: RowListProps<Row>) {
  const { exit } = useApp()
  useInput(
    (input, key) => {
      if (input === 'q' || key.escape) exit()
    },
    { isActive: terminal.stdin },
  )
  const shown = rows.slice(0, Math.max(1, terminal.height - frameLines))
  const hidden = rows.length - shown.length
  return (
    <Box flexDirection="column" width={terminal.width}>
      <Text bold wrap="truncate">
        {escapeControls(title)}
        <Text dimColor>
          {' '}
          {rows.length}
          {more ? '+' : ''} {rows.length === 1 && !more ? noun : `${noun}s`}
        </Text>
      </Text>
      <Text wrap="truncate">{rows.length > 0 ? drawTable(shown, columns, terminal).trimEnd() : `No ${noun}s.`}</Text>
      <Text dimColor wrap="truncate">
        {hidden > 0 ? `${hidden} more below. ` : ''}
        {live ? 'q quits' : 'The connection broke; connecting again ...'}
      </Text>
    </Box>
  )
}
