import { html, type Html } from '../../src/config/html.ts'
import type { Card } from '../cardRoutes.ts'
import type { Context } from '../context.ts'
import { boardsOf, columnsOf, type Named } from '../resolve.ts'
import { labelMarks, note, statusMark, time } from './page.ts'

type Column = Awaited<ReturnType<typeof columnsOf>>[number]
/** The boards of a project with their columns. */
export interface House {
  boards: readonly Named[]
  columns: readonly Column[]
}

export async function readHouse(context: Context, projectId: string): Promise<House> {
  const [boards, columns] = await Promise.all([boardsOf(context, projectId), columnsOf(context, projectId)])
  return { boards, columns }
}

/** Cards in their columns side by side, board below board. `only` leaves out all columns but one. */
export function drawColumns(
  { boards, columns }: House,
  cards: readonly Card[],
  { only, more }: { only?: string; more: boolean },
): Html {
  const shown = columns.filter(({ id }) => only === undefined || id === only)
  const ids = [...new Set(shown.map(({ boardId }) => boardId))]
  return html`${more ? note(`There are more cards; these are the first ${cards.length.toLocaleString('en')}.`) : undefined}
${ids.map(
  boardId => html`${ids.length > 1 ? html`<h2>${boards.find(({ id }) => id === boardId)?.name ?? `Board ${boardId}`}</h2>` : undefined}
<div class="columns">${shown
    .filter(column => column.boardId === boardId)
    .map(column =>
      drawColumn(
        column,
        cards.filter(({ columnId }) => columnId === column.id),
      ),
    )}</div>`,
)}`
}

const drawColumn = (
  { name }: Column,
  cards: readonly Card[],
): Html => html`<section class="column"><h3>${name} <span>${cards.length}</span></h3>
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
