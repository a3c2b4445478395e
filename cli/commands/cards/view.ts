import { Option, type Command } from 'commander'
import { pagePath, showPage } from '../../browser/openPage.ts'
import { runBulk } from '../../input/bulk.ts'
import { cardFields } from '../../cards/cardColumns.ts'
import { getCard, inItsProject, withColumnName } from '../../cards/cardApi.ts'
import { landedWords } from '../../../src/boardModel/landedWords.ts'
import { openContext, type Context } from '../../context/context.ts'
import { example, prints } from '../../help/help.ts'
import { escapeControls } from '../../output/text.ts'

export function registerVerbs(cards: Command): void {
  const view = cards
    .command('view <card>')
    .summary('Show a card')
    .description('Show a card with its prompt.')
    .option('--prompt', 'print only the prompt')
    .addOption(
      new Option('--web', 'open the card and its transcript in your browser; in a pipe, print the address').conflicts(
        'prompt',
      ),
    )
    .action(async (id: string, { prompt, web }: { prompt?: boolean; web?: boolean }) => {
      const context = await openContext(view)
      await (web ? showInBrowser(context, id) : viewCard(context, id, prompt))
    })
  prints(view, 'cards.get')
  example(
    view,
    'board cards view 12',
    'board cards view 12 --web',
    'board cards view 12 --prompt > task.md',
    'board cards view 12 --json status,gitBranch',
  )
  const read = cards
    .command('read <cards...>')
    .summary('Mark cards as read')
    .description('Mark cards as read. - reads IDs from stdin.')
    .action(async (ids: string[]) => {
      const context = await openContext(read)
      await runBulk(context, ids, id => inItsProject(context, id, place => context.client.cards.view(place)), {
        verb: 'read',
        label: 'Marking as read',
      })
    })
  prints(read, null, 'id result error')
  example(read, 'board cards read 12 13')
}

async function viewCard(context: Context, id: string, promptOnly: boolean | undefined): Promise<void> {
  const card = await withColumnName(context, await inItsProject(context, id, place => getCard(context, place)))
  if (promptOnly) return printPrompt(context, card.prompt ?? '')
  const known = cardFields.filter(({ name, value }) => name === 'labels' || (value(card) ?? null) !== null)
  await context.out.record(card, context.out.json ? cardFields : known, { body: card.prompt })
  if (landedWords({ lastAgentAction: card.lastAgentAction ?? null }) !== undefined)
    context.out.done(`To remove its worktree: board cards worktree ${card.id} --remove`)
}

async function showInBrowser(context: Context, id: string): Promise<void> {
  const { projectId } = await inItsProject(context, id, place => getCard(context, place))
  await showPage(context, pagePath.card(projectId, id))
}

/** Prints the prompt verbatim, ready for `--prompt-file -`. */
async function printPrompt({ out }: Context, prompt: string): Promise<void> {
  if (out.json) return out.value(prompt)
  await out.text((out.terminal.stdout ? escapeControls(prompt, true) : prompt).replace(/\n?$/, '\n'))
}
