import { Option, type Command } from 'commander'
import { CardStatus } from '../../src/contract/fields.ts'
import { count } from '../parsing/arguments.ts'
import { cardColumns } from '../cards/cardColumns.ts'
import { listCards, withColumnNames, type Card, type CardFilter, type CardPage } from '../cards/cardApi.ts'
import { openContext, requireScreen, requireUser, type Context } from '../context/context.ts'
import { example } from '../help/help.ts'
import { resolveColumn } from '../context/resolve.ts'

interface ListOptions {
  column?: string
  status?: CardStatus
  label?: string
  search?: string
  archived?: boolean
  limit: number
  all?: boolean
  watch?: boolean
  web?: boolean
}

/** How many cards a page shows unless another number is wanted. */
const maxPageCards = 1000

export function registerVerbs(cards: Command): void {
  const list = cards
    .command('list')
    .summary('List cards')
    .description('List cards in the order of the board: column by column, each from its top.')
    .option('-c, --column <column>', 'only this column, by name or id')
    .addOption(new Option('-s, --status <status>', 'only cards of this status').choices(CardStatus.options))
    .option('-l, --label <label>', 'only cards whose labels contain this text')
    .option('--search <text>', 'only cards whose title contains this text')
    .option('--archived', 'only archived cards')
    .addOption(new Option('--limit <number>', 'how many at most').argParser(count).default(100))
    .addOption(new Option('--all', 'every card').conflicts('limit'))
    .option('-w, --watch', 'show the list and keep it up to date, until q or Ctrl-C')
    .addOption(
      new Option(
        '--web',
        `as a page in your browser, column beside column, ${maxPageCards} cards unless --limit says how many; in a pipe, print the page's path`,
      ).conflicts('watch'),
    )
    .action(async (options: ListOptions) =>
      listed(await openContext(list), {
        ...options,
        ...(options.web && list.getOptionValueSource('limit') === 'default' && { limit: maxPageCards }),
      }),
    )
  example(
    list,
    'board cards list -c review',
    'board cards list --status failed --json id,title',
    "board cards list --template '#{{id}} {{title}}'",
    'board cards list --web',
    'board cards list -c done --all -q | board cards archive -',
  )
}

async function listed(context: Context, options: ListOptions): Promise<void> {
  const project = await context.project()
  const filter: CardFilter = {
    columnId: options.column === undefined ? undefined : (await resolveColumn(context, project.id, options.column)).id,
    status: options.status,
    label: options.label,
    search: options.search,
    archived: options.archived,
  }
  const limit = options.all ? Infinity : options.limit
  if (options.watch) return watch(context, project, filter, limit)
  if (options.web) return show(context, project, filter, limit)
  const progress = context.out.progress('Listing')
  const page = await load(context, project.id, filter, limit, count => progress.to(count))
  progress.done()
  await context.out.list(page.cards, cardColumns, { empty: 'No cards.' })
  if (page.more)
    context.out.warn(`there are more cards; these are the first ${page.cards.length}. --all lists every card`)
}

/** Lists with the columns' names and types where they are shown and did not come with the cards. */
async function load(
  context: Context,
  projectId: string,
  filter: CardFilter,
  limit: number,
  onPage?: (count: number) => void,
): Promise<CardPage> {
  const listing = listCards(context, projectId, filter, limit, onPage)
  if (context.out.quiet || (!context.external && !context.out.json)) return listing
  const cards = await withColumnNames(
    context,
    projectId,
    listing.then(page => page.cards),
  )
  return { ...(await listing), cards }
}

async function show(
  context: Context,
  project: { id: string; name: string },
  filter: CardFilter,
  limit: number,
): Promise<void> {
  const [{ listPage }, { showPage }] = await Promise.all([
    import('../pages/listPage.ts'),
    import('../pages/showPage.ts'),
  ])
  await showPage(context, await listPage(context, project, filter, limit))
}

async function watch(
  context: Context,
  project: { id: string; name: string },
  filter: CardFilter,
  limit: number,
): Promise<void> {
  requireScreen(context)
  requireUser(context, 'cards list --watch')
  const { watchList } = await context.programs.watching()
  await watchList<Card>(context, project.id, { title: project.name, noun: 'card', columns: cardColumns }, async () => {
    const { cards, more } = await load(context, project.id, filter, limit)
    return { rows: cards, more }
  })
}
