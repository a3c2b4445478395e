import { html, type Html } from '../../src/config/html.ts'
import { countCards, type Card } from '../cards/cardApi.ts'
import type { Context } from '../context/context.ts'
import { boardsOf, columnsOf, type Named } from '../context/resolve.ts'
import { labelMarks, note, statusMark, time } from './page.ts'

type Column = Awaited<ReturnType<typeof columnsOf>>[number]
/** The boards of a project with their columns. */
export interface House {
  boards: readonly Named[]
  columns: readonly Column[]
  /** Column id -> how many cards are in it, of which a page may show some only. */
  counts: ReadonlyMap<string, number>
}

export async function readHouse(context: Context, projectId: string): Promise<House> {
  const [boards, columns, { byColumn }] = await Promise.all([
    boardsOf(context, projectId),
    columnsOf(context, projectId),
    countCards(context, projectId),
  ])
  return { boards, columns, counts: new Map(byColumn.map(({ columnId, count }) => [columnId, count])) }
}

/** How many cards there are in the columns, or in one of them. */
export const cardsIn = ({ counts }: House, only?: string): number =>
  only === undefined ? [...counts.values()].reduce((sum, count) => sum + count, 0) : (counts.get(only) ?? 0)

/**
 * Cards in their columns side by side, board below board. `only` leaves out all columns but one; `isFiltered` says that only some
 * cards of a column were wanted, so that its count is theirs.
 */
export function drawColumns(
  house: House,
  cards: readonly Card[],
  { only, more, isFiltered = false }: { only?: string; more: boolean; isFiltered?: boolean },
): Html {
  const { boards, columns, counts } = house
  const firstOf = isFiltered ? '' : ` of ${cardsIn(house, only).toLocaleString('en')}`
  const shown = columns.filter(({ id }) => only === undefined || id === only)
  const ids = [...new Set(shown.map(({ boardId }) => boardId))]
  return html`${more ? note(`There are more cards: the first ${cards.length.toLocaleString('en')}${firstOf} are shown.`) : undefined}
${ids.map(
  boardId => html`${ids.length > 1 ? html`<h2>${boards.find(({ id }) => id === boardId)?.name ?? `Board ${boardId}`}</h2>` : undefined}
<div class="columns">${shown
    .filter(column => column.boardId === boardId)
    .map(column =>
      drawColumn(
        column,
        cards.filter(({ columnId }) => columnId === column.id),
        isFiltered ? undefined : counts.get(column.id),
      ),
    )}</div>`,
)}`
}

const drawColumn = (
  { name }: Column,
  cards: readonly Card[],
  count = cards.length,
): Html => html`<section class="column"><h3>${name} <span>${count.toLocaleString('en')}</span></h3>
<ul>${cards.toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0)).map(drawCard)}</ul></section>
`

const drawCard = ({
  id,
  title,
  status,
  statusReason,
  labels,
  unread,
  updatedAt,
}: Card): Html => html`<li><p class="${unread ? 'unread' : ''}">${title}</p>
<div class="marks"><span>#${id}</span> ${status === 'idle' ? undefined : statusMark(status, statusReason)}${labelMarks(labels)} ${time(updatedAt)}</div></li>
`
