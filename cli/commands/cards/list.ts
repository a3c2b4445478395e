import { Option, type Command } from 'commander'
import { pagePath, showPage } from '../../browser/openPage.ts'
import { choiceNames, planFieldNames } from '../../../src/contract/cards/planFields.ts'
import { CardStatus } from '../../../src/contract/fields.ts'
import { count } from '../../parsing/arguments.ts'
import { cardColumns, planColumns } from '../../cards/cardColumns.ts'
import type { Card } from '../../cards/cardApi.ts'
import { listCards, type CardFilter, type CardQuery } from '../../cards/cardListing.ts'
import { addPlanFilters, readPlanFilter, type PlanFilterOptions } from '../../cards/planOptions.ts'
import { openContext, requireScreen, requireUser, type Context } from '../../context/context.ts'
import { example, prints } from '../../help/help.ts'
import { resolveColumn } from '../../context/resolve.ts'

interface ListOptions extends PlanFilterOptions {
  column?: string
  status?: CardStatus
  label?: string
  search?: string
  archived?: boolean
  ready?: boolean
  blocked?: boolean
  limit: number
  all?: boolean
  watch?: boolean
  web?: boolean
}

interface Project {
  id: string
  name: string
}

export function registerVerbs(cards: Command): void {
  const described = cards
    .command('list')
    .summary('List cards')
    .description('List cards in the order of the board: by column, from top to bottom. --sort sets another order.')
    .option('-c, --column <column>', 'show only cards in this column (name or ID)')
    .addOption(new Option('-s, --status <status>', 'show only cards with this status').choices(CardStatus.options))
    .option('-l, --label <label>', 'show only cards whose labels contain this text')
    .option('--search <text>', 'show only cards whose title contains this text')
    .option('--archived', 'show only archived cards')
    .addOption(new Option('--ready', 'show only cards that can start now').conflicts(['archived', 'blocked']))
    .option('--blocked', 'show only blocked cards')
  const list = addPlanFilters(described)
    .addOption(new Option('--limit <number>', 'maximum number of results').argParser(count).default(100))
    .addOption(new Option('--all', 'show all cards').conflicts('limit'))
    .option('-w, --watch', 'show the live list until q or Ctrl-C')
    .addOption(
      new Option('--web', 'open the board in your browser; in a pipe, print its address').conflicts([
        'watch',
        'column',
        'status',
        'label',
        'search',
        'archived',
        'ready',
        'blocked',
        'assignee',
        ...choiceNames,
        'dueBefore',
        'sort',
        'limit',
        'all',
      ]),
    )
    .action(async (options: ListOptions) => runList(await openContext(list), options))
  prints(list, 'cards.list', 'columnType')
  example(
    list,
    'board cards list -c review',
    'board cards list --status failed --json id,title',
    "board cards list --template '#{{id}} {{title}}'",
    'board cards list --assignee me --sort -priority',
    'board cards list --due-before now --json id,title,dueAt',
    'board cards list --web',
    'board cards list -c done --all -q | board cards archive -',
  )
}

async function runList(context: Context, options: ListOptions): Promise<void> {
  const project = await context.project()
  if (options.web) return showPage(context, pagePath.project(project.id))
  const filter: CardFilter = {
    columnId: options.column === undefined ? undefined : (await resolveColumn(context, project.id, options.column)).id,
    status: options.status,
    label: options.label,
    search: options.search,
    archived: options.archived,
    ready: options.ready,
    blocked: options.blocked,
    ...(await readPlanFilter(context, project.id, options)),
  }
  const limit = options.all ? Infinity : options.limit
  const query = { projectId: project.id, filter, limit, withColumns: showsColumns(context) }
  if (options.watch) return watchCards(context, project, query)
  await printList(context, query, 'No cards.')
}

/** Prints the results of a query. */
export async function printList(context: Context, query: CardQuery, empty: string): Promise<void> {
  const progress = context.out.progress('Listing')
  const page = await listCards(context, query, count => progress.to(count))
  progress.done()
  await context.out.list(page.cards, columnsFor(query), { empty })
  if (page.more)
    context.out.warn(`there are more cards; these are the first ${page.cards.length}. --all lists every card`)
}

/** The columns of the list. Includes the plan of the cards if the list is filtered or sorted by it. */
const columnsFor = ({ filter = {} }: CardQuery) => {
  const { ready, assigneeId, dueBefore, sort } = filter
  const isPlan = ready === true || planFieldNames.some(name => name === sort?.replace(/^-/, ''))
  const filters = [assigneeId, dueBefore, ...choiceNames.map(name => filter[name])]
  return isPlan || filters.some(each => each !== undefined) ? planColumns : cardColumns
}

/** Returns whether lists that lack column names must look them up. */
export const showsColumns = ({ out, external }: Context): boolean => !out.quiet && (external || out.json)

async function watchCards(context: Context, project: Project, query: CardQuery): Promise<void> {
  requireScreen(context)
  requireUser(context, 'cards list --watch')
  const { watchList } = await import('../../watch/watchList.ts')
  await watchList<Card>(
    context,
    project.id,
    { title: project.name, noun: 'card', columns: columnsFor(query) },
    async () => {
      const { cards, more } = await listCards(context, query)
      return { rows: cards, more }
    },
  )
}
