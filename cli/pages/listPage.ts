import { html } from '../../src/config/html.ts'
import { listCards, type CardFilter } from '../cards/cardApi.ts'
import type { Context } from '../context/context.ts'
import { cardsIn, drawColumns, readHouse } from './columns.ts'
import { counted, type Page } from './page.ts'

/** A project's cards in their columns side by side: at most `limit`, of those that the filter lets through. */
export async function listPage(
  context: Context,
  project: { id: string; name: string },
  filter: CardFilter,
  limit: number,
): Promise<Page> {
  const progress = context.out.progress('Listing')
  const [house, { cards, more }] = await Promise.all([
    readHouse(context, project.id),
    listCards(context, project.id, filter, limit, count => progress.to(count)).finally(() => progress.done()),
  ])
  const said = [
    filter.status,
    filter.label && `label ${filter.label}`,
    filter.search && `“${filter.search}”`,
    filter.archived && 'archived',
  ]
    .filter(Boolean)
    .join(' · ')
  const isFiltered = said !== ''
  return {
    title: project.name,
    name: `cards-${project.id}`,
    isWide: true,
    header: html`<h1>${project.name}</h1><div class="where">${counted(isFiltered ? cards.length : cardsIn(house, filter.columnId), 'card')}${said ? ` · ${said}` : ''}</div>`,
    body: drawColumns(house, cards, { only: filter.columnId, more, isFiltered }),
  }
}
