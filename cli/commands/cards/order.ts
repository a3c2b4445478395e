import { Option, type Command } from 'commander'
import { cardFields } from '../../cards/cardColumns.ts'
import { inItsProject } from '../../cards/cardApi.ts'
import { cardIds } from '../../cards/cardIds.ts'
import { changeFromPresent } from '../../cards/changeFromPresent.ts'
import { assigneeFilterText, readPlanFilter } from '../../cards/planOptions.ts'
import { openContext, type Context } from '../../context/context.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { count } from '../../parsing/arguments.ts'
import { printList, showsColumns } from './list.ts'

interface ReadyOptions {
  limit: number
  all?: boolean
  assignee?: string
}
interface BlockOptions {
  by?: string[]
  remove?: string[]
}

export function registerVerbs(cards: Command): void {
  const ready = cards
    .command('ready')
    .summary('List cards that are ready to start')
    .description(
      'List the cards that can start now, in the order in which they should start: they are not blocked, no agent works on them, and they are in a backlog column, or idle in an active one.',
    )
    .addOption(new Option('--limit <number>', 'maximum number of results').argParser(count).default(100))
    .addOption(new Option('--all', 'show all cards').conflicts('limit'))
    .option('-a, --assignee <person>', assigneeFilterText)
    .action(async ({ limit, all, assignee }: ReadyOptions) => {
      const context = await openContext(ready)
      const { id: projectId } = await context.project()
      await printList(
        context,
        {
          projectId,
          filter: { ready: true, ...(await readPlanFilter(context, projectId, { assignee })) },
          limit: all ? Infinity : limit,
          withColumns: showsColumns(context),
        },
        'No card can start now.',
      )
    })
  prints(ready, 'cards.list', 'columnType')
  example(
    ready,
    'board cards ready',
    'board cards ready --limit 1 -q | board cards run -',
    'board cards ready --assignee me',
    'board cards ready --json id,title',
  )

  const block = cards
    .command('block <card>')
    .summary('Block a card by other cards')
    .description(
      'Block a card by other cards: it starts only after all of them are done. In auto mode, it then starts automatically. Without an option, show the cards that block it.',
    )
    .option('--by <cards>', 'cards that block it, separated by commas', cardIds)
    .option('--remove <cards>', 'cards that no longer block it, separated by commas', cardIds)
    .action(async (id: string, options: BlockOptions) => changeBlockers(await openContext(block), id, options))
  prints(block, 'cards.get')
  example(block, 'board cards block 14 --by 12,13', 'board cards block 14 --remove 12', 'board cards block 14')
}

const orderFields = cardFields.filter(({ name }) =>
  ['id', 'title', 'blocked', 'ready', 'blockedBy', 'blocks'].includes(name),
)

async function changeBlockers(context: Context, id: string, { by = [], remove = [] }: BlockOptions): Promise<void> {
  const both = by.find(each => remove.includes(each))
  if (both !== undefined) throw usage(`--by and --remove both name card ${both}`)
  let missing: string[] = []
  const card = await inItsProject(context, id, place =>
    changeFromPresent(context.client, place, ({ blockedBy: present }) => {
      missing = remove.filter(each => !present.includes(each))
      const blockedBy = [...new Set([...present, ...by])].filter(each => !remove.includes(each))
      return blockedBy.join() === present.join() ? undefined : { blockedBy }
    }),
  )
  for (const each of missing) context.out.warn(`card ${card.id} was not blocked by card ${each}`)
  await context.out.record(card, orderFields)
}
