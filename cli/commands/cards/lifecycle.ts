import { Option, type Command } from 'commander'
import { runBulk, readIds } from '../../input/bulk.ts'
import { archiveCard, getCard, inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { openContext, type Context } from '../../context/context.ts'
import { resolveBoard } from '../../context/resolve.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { confirm } from '../../input/prompt.ts'
import type { Column } from '../../output/output.ts'
import { count } from '../../parsing/arguments.ts'

interface DeleteOptions {
  force?: boolean
  yes?: boolean
  dryRun?: boolean
}

export function registerVerbs(cards: Command): void {
  const complete = registerBulk(
    cards,
    'complete',
    "Move cards to their board's first done column",
    ({ client }, place, force) => client.cards.complete({ ...place, force }),
    'completed',
  ).option('--force', 'ignore the limit of the column and, as an admin of the project, its gates')
  prints(complete, null, 'id result error')
  example(complete, 'board cards complete 12')
  const archive = registerBulk(cards, 'archive', 'Archive cards', archiveCard, 'archived').option(
    '--dry-run',
    'show the cards without archiving them',
  )
  prints(archive, null, 'id result error')
  example(archive, 'board cards archive 12 13', 'board cards list -c done --all -q | board cards archive -')
  prints(
    example(
      registerBulk(
        cards,
        'unarchive',
        'Restore archived cards',
        ({ client }, place, force) => client.cards.unarchive({ ...place, force }),
        'unarchived',
      ).option('--force', 'ignore the limit of the column'),
      'board cards unarchive 12',
    ),
    null,
    'id result error',
  )
  registerDelete(cards)
  registerRestore(cards)
}

/** Registers a command that runs one action on many cards. */
function registerBulk(
  cards: Command,
  name: string,
  summary: string,
  action: (context: Context, place: CardPlace, force?: boolean) => Promise<unknown>,
  done: string,
): Command {
  const command = cards
    .command(`${name} <cards...>`)
    .summary(summary)
    .description(`${summary}. - reads IDs from stdin.`)
  return command.action(async (ids: string[], { dryRun, force }: { dryRun?: boolean; force?: boolean }) => {
    const context = await openContext(command)
    const act = (place: CardPlace) => (dryRun ? getCard(context, place) : action(context, place, force))
    await eachCard(context, ids, (_, place) => act(place), dryRun ? `would be ${done}` : done)
  })
}

const eachCard = (
  context: Context,
  ids: readonly string[],
  action: (context: Context, place: CardPlace) => Promise<unknown>,
  done: string,
): Promise<void> =>
  runBulk(context, ids, id => inItsProject(context, id, place => action(context, place)), { verb: done })

function registerDelete(cards: Command): void {
  const command = cards
    .command('delete <cards...>')
    .summary('Delete cards')
    .description('Delete cards. You can restore them for 30 days. - reads IDs from stdin.')
    .option(
      '-f, --force',
      'delete the card even if it blocks other cards, or its worktree has unsaved work, which is saved as a patch',
    )
    .option('-y, --yes', 'skip the confirmation prompt')
    .option('--dry-run', 'show what would be deleted, without deleting it')
    .action(async (ids: string[], options: DeleteOptions) => deleteCards(await openContext(command), ids, options))
  prints(command, null, 'id result error')
  example(command, 'board cards delete 12', 'board cards list -s cancelled -q | board cards delete - --yes')
}

async function deleteCards(context: Context, ids: string[], { force, yes, dryRun }: DeleteOptions): Promise<void> {
  const wanted = await readIds(ids)
  if (dryRun) return eachCard(context, wanted, getCard, 'would be deleted')
  if (wanted.length > 0)
    await confirm(context, wanted.length === 1 ? `Delete card ${wanted[0]}?` : `Delete ${wanted.length} cards?`, yes)
  await eachCard(context, wanted, ({ client }, place) => client.cards.delete({ ...place, force }), 'deleted')
}

interface RestoreOptions {
  force?: boolean
  board?: string
  limit: number
  all?: boolean
}
type DeletedCard = Awaited<ReturnType<Context['client']['cards']['listDeleted']>>[number]

const deletedColumns: Column<DeletedCard>[] = [
  { name: 'id', style: 'id', align: 'right', value: card => card.id },
  { name: 'title', style: 'title', value: card => card.title },
  { name: 'columnName', header: 'COLUMN', value: card => card.columnName },
  { name: 'deletedAt', header: 'DELETED', style: 'time', value: card => card.deletedAt },
  { name: 'restorableUntil', header: 'UNTIL', style: 'time', value: card => card.restorableUntil },
]

/** Restores deleted cards in the current project, because a deleted card has no project. */
function registerRestore(cards: Command): void {
  const command = cards
    .command('restore [cards...]')
    .summary('Restore or list deleted cards')
    .description(
      'Restore cards of the current project that were deleted in the last 30 days. Without cards, list the cards that can be restored, latest deletion first. - reads IDs from stdin.',
    )
    .option('--force', 'restore cards into a full column')
    .option('-b, --board <board>', 'list only deleted cards of this board (name or ID)')
    .addOption(new Option('--limit <number>', 'maximum number of results').argParser(count).default(100))
    .addOption(new Option('--all', 'list all deleted cards').conflicts('limit'))
    .action(async (ids: string[], options: RestoreOptions) => {
      const context = await openContext(command)
      const { force } = options
      if (ids.length === 0 && force)
        throw usage('--force requires the cards to restore; to list deleted cards, omit it')
      if (ids.length === 0) return listDeleted(context, options)
      const ofList = ['board', 'limit', 'all'].find(name => command.getOptionValueSource(name) === 'cli')
      if (ofList) throw usage(`--${ofList} applies only to the list; to restore cards, omit it`)
      await runBulk(
        context,
        ids,
        async cardId => context.client.cards.restore({ projectId: (await context.project()).id, cardId, force }),
        { verb: 'restored' },
      )
    })
  prints(command, 'cards.listDeleted')
  example(
    command,
    'board cards restore',
    'board cards restore 12',
    'board cards restore 12 -P web',
    'board cards restore --jq \'.[] | select(.columnName == "Backlog") | .id\' | board cards restore -',
  )
}

const pageSize = 1000

async function listDeleted(context: Context, { board, limit: wanted, all }: RestoreOptions): Promise<void> {
  const { client, out } = context
  const { id: projectId } = await context.project()
  const boardId = board === undefined ? undefined : (await resolveBoard(context, projectId, board)).id
  const maxCards = all ? Infinity : wanted
  const cards: DeletedCard[] = []
  // One more card than requested is read, to know whether there are more.
  for (let isWhole = false; !isWhole && cards.length <= maxCards;) {
    const limit = Math.min(pageSize, maxCards + 1 - cards.length)
    const page = await client.cards.listDeleted({ projectId, boardId, limit, offset: cards.length })
    cards.push(...page)
    isWhole = page.length < limit
  }
  const shown = cards.slice(0, maxCards)
  await out.list(shown, deletedColumns, { empty: 'No deleted cards to restore.' })
  if (cards.length > shown.length)
    out.warn(`there are more deleted cards; these are the newest ${shown.length}. --all lists every card`)
  if (shown.length > 0) out.done(`Restore a card: board cards restore ${shown[0]!.id}`)
}
