import { groupCards, type CardGroup } from '../../../src/boardModel/group.ts'
import type { ShownBoard } from '../../../src/boardModel/shownBoard.ts'
import { sortCards, type AgentsOfCards } from '../../../src/boardModel/sort.ts'
import type { ViewState } from './boardView.ts'

/** A group with its cards by column. */
export interface Lane extends CardGroup {
  cells: ReadonlyMap<string, readonly string[]>
}
/** A line of a table: a card, or the head of a group. */
export type TableLine = { lane: Lane } | { cardId: string; columnId: string }

/** The cards of a board in the order and the groups of its view. */
export interface Arrangement {
  /** Without grouping, one lane of all cards. */
  lanes: readonly Lane[]
  lines: readonly TableLine[]
  /** The cards outside collapsed groups, in the order of the table. */
  order: readonly string[]
  /** Column ID -> its cards outside collapsed groups, in the order of the lanes. */
  byColumn: ReadonlyMap<string, readonly string[]>
}

/** Arranges the cards of a board. The lanes of a board and the groups of a table are the same. */
export function arrangeCards(
  { columns, cards }: ShownBoard,
  { sort, isReversed, isTable, group }: ViewState,
  collapsed: ReadonlySet<string>,
  agents: AgentsOfCards,
): Arrangement {
  const columnOf = new Map(columns.flatMap(({ id: columnId, found }) => found.map(id => [id, columnId] as const)))
  const all = [...columnOf.keys()]
  const ids = isTable ? sortCards(all, cards, sort, { isReversed, agents }) : all
  const groups = group ? groupCards(ids, cards, group, agents) : [{ key: '', values: [], ids: [...ids] }]
  const lanes = groups.map(each => {
    const cells = new Map<string, string[]>(columns.map(({ id }) => [id, []]))
    for (const id of each.ids) cells.get(columnOf.get(id)!)!.push(id)
    return { ...each, cells }
  })
  const isOpen = ({ key }: Lane) => group === undefined || !collapsed.has(key)
  const lines = lanes.flatMap((lane): TableLine[] => [
    ...(group ? [{ lane }] : []),
    ...(isOpen(lane) ? lane.ids.map(cardId => ({ cardId, columnId: columnOf.get(cardId)! })) : []),
  ])
  const byColumn = new Map(
    columns.map(({ id }) => [id, lanes.flatMap(lane => (isOpen(lane) ? lane.cells.get(id)! : []))] as const),
  )
  return { lanes, lines, byColumn, order: lines.flatMap(line => ('cardId' in line ? [line.cardId] : [])) }
}
