import { Box, Text, useApp, useInput } from 'ink'
import { cardColumns } from '../cardColumns.ts'
import type { Card } from '../cardRoutes.ts'
import { drawTable } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { harmless } from '../text.ts'

export interface CardListProps {
  title: string
  cards: readonly Card[]
  /** There are more cards than these. */
  more: boolean
  /** Changes arrive. False while the connection is broken. */
  live: boolean
  terminal: Terminal
}

/** The lines around the table: title, head, an empty line, foot. */
const aroundLines = 4

/** A table of cards as high as the terminal. `q` ends it. */
export function CardList({ title, cards, more, live, terminal }: CardListProps) {
  const { exit } = useApp()
  useInput((input, key) => { if (input === 'q' || key.escape) exit() }, { isActive: terminal.stdin })
  const shown = cards.slice(0, Math.max(1, terminal.height - aroundLines))
  const hidden = cards.length - shown.length
  return (
    <Box flexDirection="column">
      <Text bold>{harmless(title)}<Text dimColor>  {cards.length}{more ? '+' : ''} {cards.length === 1 && !more ? 'card' : 'cards'}</Text></Text>
      <Text wrap="truncate">{cards.length > 0 ? drawTable(shown, cardColumns, terminal).trimEnd() : 'No cards.'}</Text>
      <Text dimColor>{hidden > 0 ? `${hidden} more below. ` : ''}{live ? 'q quits' : 'The connection broke; connecting again ...'}</Text>
    </Box>
  )
}
