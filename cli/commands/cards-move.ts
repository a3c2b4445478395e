import { Option, type Command } from 'commander'
import { place as wholePlace } from '../arguments.ts'
import { bulk } from '../bulk.ts'
import { getCard, inItsProject, moveCard } from '../cardRoutes.ts'
import { openContext, type Context } from '../context.ts'
import { usage } from '../exit.ts'
import { example } from '../help.ts'
import { resolveColumn } from '../resolve.ts'

interface MoveOptions {
  to?: string
  position?: number
  top?: boolean
  bottom?: boolean
  dryRun?: boolean
}

export function registerVerbs(cards: Command): void {
  const move = cards
    .command('move <cards...>')
    .summary('Move cards to a column, or within their column')
    .description(
      'Move cards to a column, or within their column. Several cards keep the order in which they are named. - reads ids from stdin.',
    )
    .option('--to <column>', 'the column, by name or id (default: the one that a card is in)')
    .addOption(
      new Option('--position <number>', 'the zero-based place of the first card')
        .argParser(wholePlace)
        .conflicts(['top', 'bottom']),
    )
    .addOption(new Option('--top', 'to the top').conflicts('bottom'))
    .option('--bottom', 'to the bottom (the default)')
    .option('--dry-run', 'only say what would be moved')
    .action(async (ids: string[], options: MoveOptions) => moved(await openContext(move), ids, options))
  example(
    move,
    'board cards move 12 --to review --top',
    'board cards move 12 --position 3',
    'board cards list -s completed -q | board cards move - --to done',
  )
}

async function moved(context: Context, ids: string[], options: MoveOptions): Promise<void> {
  const { to, dryRun } = options
  if (to === undefined && options.position === undefined && !options.top && !options.bottom)
    throw usage('where to?', { hint: 'give --to, --top, --bottom or --position', see: 'board cards move --help' })
  const columns = new Map<string, Promise<{ id: string }>>()
  const columnIn = (projectId: string, wanted: string) =>
    columns.get(projectId) ?? columns.set(projectId, resolveColumn(context, projectId, wanted)).get(projectId)!
  let position = options.top ? 0 : options.position
  await bulk(
    context,
    ids,
    id =>
      inItsProject(context, id, async place => {
        const card = to === undefined || dryRun ? await getCard(context, place) : undefined
        const columnId = to === undefined ? card!.columnId : (await columnIn(place.projectId, to)).id
        if (!dryRun) await moveCard(context, place, columnId, position)
        if (position !== undefined) position += 1
      }),
    { verb: dryRun ? `would be moved${to === undefined ? '' : ` to ${to}`}` : 'moved', label: 'Moving' },
  )
}
