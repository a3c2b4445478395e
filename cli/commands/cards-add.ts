import type { Command } from 'commander'
import { chosenAgent } from '../agentOption.ts'
import { several } from '../arguments.ts'
import { cardBrief } from '../cardColumns.ts'
import { createCard, listCards, withColumnName, type Card } from '../cardRoutes.ts'
import { runCard } from '../cardRun.ts'
import { openContext, type Context } from '../context.ts'
import { example } from '../help.ts'
import { addPromptOptions, promptOf, type PromptOptions } from '../promptOption.ts'
import { boardsOf, columnsOf, resolveColumn } from '../resolve.ts'

interface AddOptions extends PromptOptions { column?: string; label?: string[]; worktree: boolean; run?: boolean; unlessExists?: boolean; idempotencyKey?: string; agent?: string; terminal?: string }

export function registerAdd(cards: Command): void {
  const add = addPromptOptions(cards.command('add <title>').summary('Add a card').description('Add a card at the end of a column, and print it. Its agent waits until --run, or board cards run.'))
    .option('-c, --column <column>', 'the column, by name or id (default: the first of the default board)')
    .option('-l, --label <label>', 'a label; may be given several times', several)
    .option('--agent <agent>', 'the agent that works on it (default: its column\'s, else its project\'s)')
    .option('--terminal <command>', 'a terminal card: what runs is this shell command, not an agent')
    .option('--no-worktree', 'let the agent work in the project\'s own folder')
    .option('--run', 'start its agent, in the first active column unless --column names one')
    .option('--unless-exists', 'add nothing when the column has a card of this title; print that one')
    .option('--idempotency-key <key>', 'trying again with the same key adds no second card')
    .action(async (title: string, options: AddOptions) => added(await openContext(add), title, options))
  example(add, 'board cards add "Fix the login" --prompt "The form loses its focus." --label bug', 'git log -1 --format=%B | board cards add "Review the last commit" --prompt-file - --run', 'board cards add "Nightly audit" --unless-exists -q', 'board cards add "Watch the tests" --terminal "npm test -- --watch" --run')
}

async function added(context: Context, title: string, options: AddOptions): Promise<void> {
  const { id: projectId } = await context.project()
  const column = options.column === undefined ? undefined : await resolveColumn(context, projectId, options.column)
  const prompt = await promptOf(options)
  const before = options.unlessExists ? await existing(context, projectId, title, column?.id) : undefined
  if (before) {
    context.out.done(`Card ${before.id} has this title already.`)
    return print(context, before)
  }
  const agent = await chosenAgent(context, options.agent)
  const card = await createCard(context, projectId, { title, prompt, column, labels: options.label ?? [], useWorktree: options.worktree, agent, command: options.terminal }, options.idempotencyKey)
  context.out.done(`Added card ${card.id}.`)
  await print(context, options.run ? await runCard(context, { projectId, cardId: card.id }) : card)
}

/** The card of exactly this title in the column, by default the one that new cards go to. */
async function existing(context: Context, projectId: string, title: string, columnId: string | undefined): Promise<Card | undefined> {
  const start = [...title].slice(0, 100).join('')
  const { cards } = await listCards(context, projectId, { columnId: columnId ?? await firstColumn(context, projectId), search: start }, Infinity)
  return cards.find(card => card.title === title)
}

async function firstColumn(context: Context, projectId: string): Promise<string | undefined> {
  const boards = await boardsOf(context, projectId)
  return (await columnsOf(context, projectId, boards[0]?.id))[0]?.id
}

const print = async (context: Context, card: Card): Promise<void> => context.out.record(context.out.quiet ? card : await withColumnName(context, card), cardBrief)
