import type { Command } from 'commander'
import { bulk, readIds } from '../input/bulk.ts'
import { archiveCard, getCard, inItsProject, type CardPlace } from '../cards/cardApi.ts'
import { openContext, type Context } from '../context/context.ts'
import { example } from '../help/help.ts'
import { confirm } from '../input/prompt.ts'

interface DeleteOptions {
  force?: boolean
  yes?: boolean
  dryRun?: boolean
}

export function registerVerbs(cards: Command): void {
  const complete = verb(
    cards,
    'complete',
    "Move cards to their board's first done column",
    ({ client }, place, force) => client.cards.complete({ ...place, force }),
    'completed',
  ).option('--force', 'also when that column is full')
  example(complete, 'board cards complete 12')
  const archive = verb(cards, 'archive', 'Archive cards', archiveCard, 'archived').option(
    '--dry-run',
    'only say what would be archived',
  )
  example(archive, 'board cards archive 12 13', 'board cards list -c done --all -q | board cards archive -')
  example(
    verb(
      cards,
      'unarchive',
      'Bring archived cards back',
      ({ client }, place, force) => client.cards.unarchive({ ...place, force }),
      'unarchived',
    ).option('--force', 'also into a full column'),
    'board cards unarchive 12',
  )
  registerDelete(cards)
  registerRestore(cards)
}

/** A command that does one thing to many cards. */
function verb(
  cards: Command,
  name: string,
  summary: string,
  action: (context: Context, place: CardPlace, force?: boolean) => Promise<unknown>,
  done: string,
): Command {
  const command = cards
    .command(`${name} <cards...>`)
    .summary(summary)
    .description(`${summary}. - reads ids from stdin.`)
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
): Promise<void> => bulk(context, ids, id => inItsProject(context, id, place => action(context, place)), { verb: done })

function registerDelete(cards: Command): void {
  const command = cards
    .command('delete <cards...>')
    .summary('Delete cards')
    .description('Delete cards. They can be restored for 30 days. - reads ids from stdin.')
    .option(
      '-f, --force',
      'also when the worktree holds work that nothing else holds, of which a patch is kept, or other cards wait for it',
    )
    .option('-y, --yes', 'do not ask')
    .option('--dry-run', 'only say what would be deleted')
    .action(async (ids: string[], options: DeleteOptions) => deleted(await openContext(command), ids, options))
  example(command, 'board cards delete 12', 'board cards list -s cancelled -q | board cards delete - --yes')
}

async function deleted(context: Context, ids: string[], { force, yes, dryRun }: DeleteOptions): Promise<void> {
  const wanted = await readIds(ids)
  if (dryRun) return eachCard(context, wanted, getCard, 'would be deleted')
  if (wanted.length > 0)
    await confirm(context, wanted.length === 1 ? `Delete card ${wanted[0]}?` : `Delete ${wanted.length} cards?`, yes)
  await eachCard(context, wanted, ({ client }, place) => client.cards.delete({ ...place, force }), 'deleted')
}

/** A deleted card does not say where it was, so it is restored in the current project. */
function registerRestore(cards: Command): void {
  const command = cards
    .command('restore <cards...>')
    .summary('Restore deleted cards')
    .description('Restore cards of the current project that were deleted in the last 30 days. - reads ids from stdin.')
    .option('--force', 'also into a full column')
    .action(async (ids: string[], { force }: { force?: boolean }) => {
      const context = await openContext(command)
      await bulk(
        context,
        ids,
        async cardId => context.client.cards.restore({ projectId: (await context.project()).id, cardId, force }),
        { verb: 'restored' },
      )
    })
  example(command, 'board cards restore 12', 'board cards restore 12 -P web')
}
