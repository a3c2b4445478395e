import { Option, type Command } from 'commander'
import type { AgentChoice } from '../../src/contract/agentChoice.ts'
import { addChoiceOptions, choiceFlags, chosen, isChosen, type ChoiceOptions } from '../agents/agentOption.ts'
import { collect, orWord, wordAsNull } from '../parsing/arguments.ts'
import { bulk, readIds } from '../input/bulk.ts'
import { getCard, inItsProject, type CardPlace } from '../cards/cardApi.ts'
import { cardIdOf } from '../cards/cardIds.ts'
import { changeFromPresent } from '../cards/changeFromPresent.ts'
import { openContext, type Context } from '../context/context.ts'
import { cardOfText, cardText } from '../cards/cardFile.ts'
import { edit } from '../input/editor.ts'
import { usage } from '../failures/failure.ts'
import { example } from '../help/help.ts'
import { addPromptOptions, promptOf, type PromptOptions } from '../input/promptOption.ts'

interface EditOptions extends PromptOptions, ChoiceOptions {
  title?: string
  addLabel?: string[]
  removeLabel?: string[]
  parent?: string
  editor?: boolean
}
interface Change extends Partial<AgentChoice> {
  title?: string
  prompt?: string
  labels?: string[]
  parentId?: string | null
}

export function registerVerbs(cards: Command): void {
  const described = addPromptOptions(
    cards.command('edit <cards...>').summary('Change cards').description('Change cards. - reads ids from stdin.'),
  )
    .option('-t, --title <title>', 'the new title')
    .option('--add-label <label>', 'a label to add; may be given several times', collect)
    .option('--remove-label <label>', 'a label to take away; may be given several times', collect)
    .option('--parent <card>', 'the card that they are parts of; none for none', orWord('none', cardIdOf))
  const command = addChoiceOptions(described, "the agent that works on them; none for their column's or project's")
    .addOption(
      new Option('-e, --editor', 'change title and prompt in your editor').conflicts([
        'title',
        'parent',
        'prompt',
        'promptFile',
        'agent',
        'agentProfile',
        'model',
        'mode',
        'effort',
      ]),
    )
    .action(async (ids: string[], options: EditOptions) => edited(await openContext(command), ids, options))
  example(
    command,
    'board cards edit 12 --title "Fix the login form" --add-label urgent',
    'board cards edit 12 --agent claude --model opus --effort high',
    'board cards edit 12 13 --parent 7',
    'board cards edit 12 --editor',
    'board cards list --label bug -q | board cards edit - --add-label triaged',
  )
}

async function edited(context: Context, ids: string[], options: EditOptions): Promise<void> {
  const changes =
    options.title ?? options.prompt ?? options.promptFile ?? options.addLabel ?? options.removeLabel ?? options.parent
  if (options.editor) return editInEditor(context, ids)
  if (changes === undefined && !isChosen(options))
    throw usage('what should change?', {
      hint: `give --title, --prompt, --prompt-file, --add-label, --remove-label, --parent, ${choiceFlags} or --editor`,
      see: 'board cards edit --help',
    })
  if (options.promptFile === '-' && ids.includes('-')) throw usage('stdin can hold the prompt or the ids, not both')
  const prompt = await promptOf(options)
  const choice = await chosen(context, options)
  const parentId = wordAsNull('none', options.parent)
  await bulk(
    context,
    ids,
    id =>
      inItsProject(context, id, place =>
        change(context, place, { title: options.title, prompt, parentId, ...choice }, options),
      ),
    { verb: 'edited', label: 'Editing' },
  )
}

async function change(
  { client }: Context,
  place: CardPlace,
  fields: Change,
  { addLabel = [], removeLabel = [] }: EditOptions,
): Promise<void> {
  if (addLabel.length === 0 && removeLabel.length === 0) await client.cards.update({ ...place, ...fields })
  else
    await changeFromPresent(client, place, card => ({
      ...fields,
      labels: [...new Set([...card.labels, ...addLabel])].filter(label => !removeLabel.includes(label)),
    }))
}

async function editInEditor(context: Context, ids: string[]): Promise<void> {
  const [id, ...others] = await readIds(ids)
  if (id === undefined || others.length > 0) throw usage('--editor edits one card')
  if (!context.mayAsk) throw usage('--editor needs a terminal', { hint: 'give --title, --prompt or --prompt-file' })
  await inItsProject(context, id, async place => {
    const card = await getCard(context, place)
    const before = cardText(card)
    await edit(before, `card-${id}.md`, async after => {
      if (after === before) return context.out.done('Nothing was changed.')
      // Not over what somebody else has written meanwhile.
      await context.client.cards.update({ ...place, ...cardOfText(after) }, { ifMatch: `"${card.version}"` })
      context.out.done(`Edited card ${id}.`)
    })
  })
}
