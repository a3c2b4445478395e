import { Option, type Command } from 'commander'
import { pagePath, showPage } from '../../browser/openPage.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { runBulk, readIds } from '../../input/bulk.ts'
import { repositoryOption } from '../../cards/repositoryOption.ts'
import { getCard, inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { openContext, type Context } from '../../context/context.ts'
import { changesOf, coloredDiff, type FileChange } from '../../output/diffText.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'
import { confirmStarts, nextStepsOf } from '../../cards/confirmStarts.ts'
import { escapeControls } from '../../output/text.ts'

type Diff = Output<Contract['agents']['diff']>

const changeColumns: Column<FileChange>[] = [
  { name: 'path', style: 'title', value: change => change.path },
  { name: 'insertions', header: '+', align: 'right', value: change => change.insertions },
  { name: 'deletions', header: '-', align: 'right', value: change => change.deletions },
]
interface DiffOptions {
  stat?: boolean
  web?: boolean
  since?: string
  repository?: string
}
export function registerVerbs(cards: Command): void {
  const diff = cards
    .command('diff <card>')
    .summary('Show the diff of a card')
    .description(
      'Show the changes of a card since its base commit, including untracked files. In a pipe, the diff is a patch: board cards diff 12 | git apply',
    )
    .option('--stat', 'show only the changed lines per file')
    .option('--since <id>', 'show changes since the review with this ID')
    .addOption(
      repositoryOption('repository of the project (default: home, the repository of the project folder)').conflicts(
        'web',
      ),
    )
    .addOption(
      new Option('--web', 'open the diff in your browser to review it; in a pipe, print the address').conflicts('stat'),
    )
    .action(async (id: string, { stat, web, since, repository }: DiffOptions) => {
      if (since !== undefined && !/^[1-9]\d{0,14}$/.test(since))
        throw usage('--since requires the ID of a review', { hint: `board cards review ${id} -q lists them` })
      const context = await openContext(diff)
      const readDiff = (place: CardPlace) =>
        context.client.agents.diff({ ...place, since: since === undefined ? undefined : Number(since), repository })
      await (web ? showDiff(context, id, since) : printDiff(context, await inItsProject(context, id, readDiff), stat))
    })
  prints(diff, 'agents.diff')
  example(
    diff,
    'board cards diff 12',
    'board cards diff 12 --stat',
    'board cards diff 12 --since 3',
    'board cards diff 12 --repository lib',
    'board cards diff 12 --web',
    'board cards diff 12 --json stats',
  )

  registerApproval(cards)
}

function registerApproval(cards: Command): void {
  const approve = cards
    .command('approve <cards...>')
    .summary('Approve the steps of completed cards')
    .description(
      'Approve completed cards, so that they move to the next column of their pipeline, where their agents start. The command prompts before it starts several agents. - reads IDs from stdin.',
    )
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (given: string[], { yes }: { yes?: boolean }) => {
      const context = await openContext(approve)
      const ids = await readIds(given)
      if (ids.length > 1 && !yes) await confirmStarts(context, (await nextStepsOf(context, ids)).size, yes)
      await runBulk(context, ids, id => inItsProject(context, id, place => context.client.agents.approveAuto(place)), {
        verb: 'approved',
        label: 'Approving',
      })
    })
  prints(approve, null, 'id result error')
  example(approve, 'board cards approve 12', 'board cards list -s completed -q | board cards approve -')

  const summary = cards
    .command('summary <card>')
    .summary('Summarize the work on a card')
    .description(
      "Summarize the work on a card. If the agent is working, it writes the summary. Otherwise, the summary is the agent's last message.",
    )
    .action(async (id: string) => {
      const context = await openContext(summary)
      const { out } = context
      const told = await inItsProject(context, id, place => context.client.agents.summary(place))
      if (out.json) return out.record(told, [{ name: 'summary', value: ({ summary }) => summary }])
      if (told.summary === '') return out.done(`Card ${id} has no messages from an agent.`)
      await out.text((out.terminal.stdout ? escapeControls(told.summary, true) : told.summary).replace(/\n?$/, '\n'))
    })
  prints(summary, 'agents.summary')
  example(summary, 'board cards summary 12')
}

async function showDiff(context: Context, id: string, since: string | undefined): Promise<void> {
  const { projectId } = await inItsProject(context, id, place => getCard(context, place))
  await showPage(context, pagePath.changes(projectId, id, since))
}

async function printDiff({ out }: Context, diff: Diff, stat: boolean | undefined): Promise<void> {
  const { filesChanged, insertions, deletions } = diff.stats
  if (stat) await out.list(changesOf(diff.diff), changeColumns)
  else if (out.json)
    await out.record(
      diff,
      (['diff', 'stats', 'truncated'] as const).map(name => ({ name, value: each => each[name] })),
    )
  else await out.text(out.terminal.stdout ? coloredDiff(diff.diff, (text, color) => out.paint(text, color)) : diff.diff)
  if (filesChanged === 0) out.done('No changes.')
  else if (stat)
    out.done(
      `${filesChanged} ${filesChanged === 1 ? 'file' : 'files'} changed, ${insertions} inserted, ${deletions} deleted.`,
    )
  if (diff.truncated) out.warn('the diff is too large; only its first part is shown')
}
