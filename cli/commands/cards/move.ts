import { Option, type Command } from 'commander'
import { countFromZero } from '../../parsing/arguments.ts'
import { runBulk, readIds } from '../../input/bulk.ts'
import { getCard, inItsProject, moveCard } from '../../cards/cardApi.ts'
import { openContext, type Context } from '../../context/context.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { resolveColumn } from '../../context/resolve.ts'
import { confirmStarts, startersOf, warnOfMissingAgents } from '../../cards/confirmStarts.ts'
import { warnOfStart } from '../../cards/startWarnings.ts'

interface MoveOptions {
  to?: string
  position?: number
  top?: boolean
  bottom?: boolean
  force?: boolean
  dryRun?: boolean
  yes?: boolean
}

export function registerVerbs(cards: Command): void {
  const move = cards
    .command('move <cards...>')
    .summary('Move cards to a column, or within their column')
    .description(
      'Move cards to a column, or within their column. Several cards keep their order. In an active column, the agents of the cards start. The command prompts before it starts several agents. - reads IDs from stdin.',
    )
    .option('--to <column>', "name or ID of the column (default: the card's column)")
    .addOption(
      new Option('--position <number>', 'zero-based position of the first card')
        .argParser(countFromZero)
        .conflicts(['top', 'bottom']),
    )
    .addOption(new Option('--top', 'move to the top').conflicts('bottom'))
    .option('--bottom', 'move to the bottom (the default)')
    .option('--force', 'move into a full column, and start the agents of blocked cards')
    .option('--dry-run', 'show the moves and the agents that would start, without moving cards')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (ids: string[], options: MoveOptions) => moveCards(await openContext(move), ids, options))
  prints(move, null, 'id result error')
  example(
    move,
    'board cards move 12 --to review --top',
    'board cards move 12 --position 3',
    'board cards list -s completed -q | board cards move - --to done',
  )
}

async function moveCards(context: Context, ids: string[], options: MoveOptions): Promise<void> {
  const { to, dryRun } = options
  if (to === undefined && options.position === undefined && !options.top && !options.bottom)
    throw usage('where to?', { hint: 'specify --to, --top, --bottom or --position', see: 'board cards move --help' })
  const wanted = await readIds(ids)
  const columns = new Map<string, ReturnType<typeof resolveColumn>>()
  const columnIn = (projectId: string, name: string) =>
    columns.get(projectId) ?? columns.set(projectId, resolveColumn(context, projectId, name)).get(projectId)!
  // A move by an API key, or within a column, starts no agent.
  const mayStart = to !== undefined && !context.external && (dryRun || (wanted.length > 1 && !options.yes))
  const starters = mayStart
    ? await startersOf(context, wanted, ({ projectId }) => columnIn(projectId, to))
    : new Set<string>()
  if (!dryRun) await confirmStarts(context, starters.size, options.yes)
  let position = options.top ? 0 : options.position
  await runBulk(
    context,
    wanted,
    id =>
      inItsProject(context, id, async place => {
        const card = to === undefined || dryRun ? await getCard(context, place) : undefined
        const columnId = to === undefined ? card!.columnId : (await columnIn(place.projectId, to)).id
        if (!dryRun)
          await warnOfStart(context, await moveCard(context, place, columnId, { position, force: options.force }))
        if (position !== undefined) position += 1
      }),
    {
      verb: dryRun
        ? id =>
            `would be moved${to === undefined ? '' : ` to ${to}`}${starters.has(id) ? ', which starts its agent' : ''}`
        : 'moved',
      label: 'Moving',
    },
  )
  if (dryRun && starters.size > 0) {
    context.out.done(`${starters.size} agent${starters.size === 1 ? '' : 's'} would start.`)
    await warnOfMissingAgents(context)
  }
}
