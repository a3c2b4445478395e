import { html, type Html } from '../../src/config/html.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { countCards, listCards } from '../cards/cardApi.ts'
import type { Context } from '../context/context.ts'
import { drawBars, drawCurves } from './charts.ts'
import { drawColumns, readHouse } from './columns.ts'
import { counted, facts, time, type Page } from './page.ts'
import { readable } from './readable.ts'

type Project = Output<Contract['projects']['get']>
type Stats = Output<Contract['projects']['stats']>
type Day = Output<Contract['projects']['history']>[number]

/** How many cards the page shows at most. */
const maxCards = 1000

/** A project with its figures and its board. */
export async function projectPage(context: Context, projectId: string): Promise<Page> {
  const { client } = context
  const [project, stats, history, house, listed] = await Promise.all([
    client.projects.get({ id: projectId }),
    countCards(context, projectId),
    readable(client.projects.history({ id: projectId })),
    readHouse(context, projectId),
    listCards(context, projectId, {}, maxCards),
  ])
  return {
    title: project.name,
    name: `project-${projectId}`,
    isWide: true,
    header: html`<h1>${project.name}</h1><div class="where">${project.path}</div>`,
    body: html`<div class="figures"><section class="sheet"><h3>About</h3>${about(project, stats)}</section>${figures(stats, history)}</div><h2>Board</h2>${drawColumns(house, listed.cards, listed)}`,
  }
}

const about = (project: Project, { total, tokens }: Stats): Html =>
  facts([
    ['Number', project.id],
    ['Cards', total.toLocaleString('en')],
    ['Unread', project.unreadCount.toLocaleString('en')],
    ['Tokens', `${tokens.total.toLocaleString('en')} in ${counted(tokens.sessions, 'session')}`],
    ['Agent', project.agent],
    ['Credential', project.credentialId],
    ['Copied files', project.copiedFiles.join(', ')],
    ['Your role', project.role],
    ['Organization', project.organizationId],
    ['Opened', project.lastOpenedAt ? time(project.lastOpenedAt) : undefined],
    ['Created', time(project.createdAt)],
    ['Updated', time(project.updatedAt)],
  ])

function figures({ byColumn, byStatus, total }: Stats, history: readonly Day[] = []): Html {
  const statuses = Object.entries(byStatus)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => ({ name, count, status: name }))
  return html`<section class="sheet"><h3>Cards by column</h3>${drawBars(byColumn)}</section>
${total > 0 ? html`<section class="sheet"><h3>Cards by status</h3>${drawBars(statuses)}</section>` : undefined}
${history.length > 1 ? html`<section class="sheet"><h3>All cards, and those that are done</h3>${drawCurves(history)}</section>` : undefined}`
}
