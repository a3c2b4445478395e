import { Option, type Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import { ColumnType } from '../../src/contract/fields.ts'
import type { Output } from '../../src/contract/route.ts'
import { addChoiceOptions, choiceFlags, readAgentFields, isChosen, type ChoiceOptions } from '../agents/agentOption.ts'
import { openContext, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { reorderIds } from '../input/reorder.ts'
import { count } from '../parsing/arguments.ts'
import type { Column } from '../output/output.ts'
import { confirm } from '../input/prompt.ts'
import { addPromptOptions, readPrompt, type PromptOptions } from '../input/promptOption.ts'
import { listBoards, listColumns, resolveBoard, resolveColumn } from '../context/resolve.ts'

type BoardColumn = Output<Contract['columns']['update']>
/** A column in a list. An API key receives neither its prompt nor its agent. */
type Listed = Pick<BoardColumn, 'id' | 'name' | 'boardId'> &
  Partial<Omit<BoardColumn, 'columnType'>> & { columnType: string }

const columnFields: Column<Listed>[] = [
  { name: 'id', style: 'id', align: 'right', value: column => column.id },
  { name: 'name', style: 'title', value: column => column.name },
  { name: 'columnType', header: 'TYPE', value: column => column.columnType },
  { name: 'cardCount', header: 'CARDS', align: 'right', value: column => column.cardCount },
  { name: 'boardId', header: 'BOARD', align: 'right', value: column => column.boardId },
  { name: 'prompt', style: 'text', value: column => column.prompt },
  { name: 'agent', value: column => column.agent },
  { name: 'wipLimit', header: 'LIMIT', align: 'right', spare: true, value: column => column.wipLimit },
  { name: 'mergedColumnId', header: 'MERGED TO', spare: true, align: 'right', value: column => column.mergedColumnId },
  { name: 'closedColumnId', header: 'CLOSED TO', spare: true, align: 'right', value: column => column.closedColumnId },
  { name: 'pull', header: 'PULLS', spare: true, value: column => column.pull || undefined },
  {
    name: 'how',
    spare: true,
    value: ({ profile, model, mode, effort }) => [profile, model, mode, effort].filter(Boolean).join(', '),
  },
  { name: 'profile', hidden: true, value: column => column.profile },
  { name: 'model', hidden: true, value: column => column.model },
  { name: 'mode', hidden: true, value: column => column.mode },
  { name: 'effort', hidden: true, value: column => column.effort },
]

interface LimitOptions {
  limit?: number | false
  pull?: boolean
}
/** The target column of cards whose pull requests have ended: a column, or `false` for none. */
interface AfterOptions {
  merged?: string | false
  closed?: string | false
}
interface CreateOptions extends PromptOptions, ChoiceOptions, LimitOptions, AfterOptions {
  type: ColumnType
  board?: string
}
interface EditOptions extends PromptOptions, ChoiceOptions, LimitOptions, AfterOptions {
  name?: string
}

export function register(columns: Command): void {
  const list = columns
    .command('list')
    .summary('List columns')
    .description("List a project's columns in order, of one board or of all.")
    .option('--board <board>', 'only of this board (name or ID)')
    .action(async ({ board }: { board?: string }) => {
      const context = await openContext(list)
      const { id: projectId } = await context.project()
      const boardId = board === undefined ? undefined : (await resolveBoard(context, projectId, board)).id
      await context.out.list<Listed>(await listColumns(context, projectId, boardId), columnFields, {
        empty: 'No columns.',
      })
    })
  prints(list, 'columns.list')
  example(list, 'board columns list', 'board columns list --board Release --json id,name')
  registerCreate(columns)
  registerEdit(columns)
  registerDelete(columns)
  registerReorder(columns)
}

function registerCreate(columns: Command): void {
  const described = addColumnOptions(
    columns
      .command('create <name>')
      .summary('Create a column')
      .description(
        'Create a column at the end of a board. An active column starts the agent of each card that moves to it, with its prompt before that of the card. --limit sets the maximum number of cards. With --pull, the column takes the next ready card of the previous column when there is capacity.',
      ),
  )
    .addOption(new Option('--type <type>', 'type of the column').choices(ColumnType.options).makeOptionMandatory())
    .option('--board <board>', 'name or ID of the board (default: the default board)')
  const create = addChoiceOptions(described, 'agent of the column (default: that of the project)').action(
    async (name: string, options: CreateOptions) => {
      const context = await openContext(create)
      const { id: projectId } = await context.project()
      const boardId =
        options.board === undefined
          ? (await listBoards(context, projectId))[0]!.id
          : (await resolveBoard(context, projectId, options.board)).id
      const column = await context.client.columns.create({
        projectId,
        boardId,
        name,
        columnType: options.type,
        prompt: await readPrompt(options),
        ...limitOf(options),
        ...(await resolveTargets(context, projectId, boardId, options)),
        ...(await readAgentFields(context, options)),
      })
      context.out.done(`Created column ${column.id}.`)
      await context.out.record<Listed>(column, columnFields.slice(0, 3))
    },
  )
  prints(create, 'columns.list')
  example(
    create,
    'board columns create Review --type active --prompt "Review the branch."',
    'board columns create Shipped --type done --board Release',
    'board columns create Build --type active --limit 3 --pull',
  )
}

function registerEdit(columns: Command): void {
  const described = addColumnOptions(
    columns
      .command('edit <column>')
      .summary('Change a column')
      .description(
        'Change the name, the prompt, the limit, the pulling or the agent of a column, or the columns for cards whose pull requests are merged or closed. The type of a column cannot change.',
      ),
  ).option('--name <name>', 'new name')
  const edit = addChoiceOptions(described, "agent of the column; none for the project's").action(
    async (wanted: string, options: EditOptions) => {
      const prompt = await readPrompt(options)
      const limit = limitOf(options)
      const isGiven = [options.name, prompt, options.merged, options.closed, ...Object.values(limit)].some(
        value => value !== undefined,
      )
      if (!isGiven && !isChosen(options))
        throw usage('nothing to change', {
          hint: `specify --name, --prompt, --prompt-file, --limit, --pull, --merged, --closed or one of ${choiceFlags}`,
          see: 'board columns edit --help',
        })
      const context = await openContext(edit)
      const { projectId, column } = await resolveOwnColumn(context, wanted)
      const edited = await context.client.columns.update({
        projectId,
        columnId: column.id,
        name: options.name,
        prompt,
        ...limit,
        ...(await resolveTargets(context, projectId, column.boardId, options)),
        ...(await readAgentFields(context, options)),
      })
      await context.out.did(edited, `Edited column ${column.id}.`)
    },
  )
  prints(edit, 'columns.list')
  example(
    edit,
    'board columns edit Review --prompt-file review.md',
    'board columns edit "In Progress" --name Build',
    'board columns edit Review --agent codex --model gpt-5 --effort high',
    'board columns edit "In Progress" --limit 5',
    'board columns edit Review --limit 2 --pull',
    'board columns edit Review --merged Done --closed Backlog',
  )
}

/** The options for a column's texts, its limit, and its target columns after pull requests. */
const addColumnOptions = (command: Command): Command =>
  addPromptOptions(command)
    .addOption(new Option('--limit <number>', 'maximum number of cards, up to 10000').argParser(count))
    .option('--no-limit', 'remove the limit')
    .option('--pull', 'pull the next ready card of the previous column when there is capacity; requires a limit')
    .option('--no-pull', 'disable pulling')
    .option('--merged <column>', 'column for cards whose pull requests are merged (default: the first done column)')
    .option('--no-merged', 'move these cards to the first done column')
    .option('--closed <column>', 'column for cards whose pull requests are closed (default: no move)')
    .option('--no-closed', 'do not move these cards')

/** The limit options. A field is undefined if its option is not set. */
const limitOf = ({ limit, pull }: LimitOptions) => ({ wipLimit: limit === false ? null : limit, pull })

/** The columns that the options name, on the same board. A field is undefined if its option is not set. */
async function resolveTargets(context: Context, projectId: string, boardId: string, { merged, closed }: AfterOptions) {
  const idOf = async (wanted: string | false | undefined) =>
    wanted ? (await resolveColumn(context, projectId, wanted, boardId)).id : wanted === false ? null : undefined
  return { mergedColumnId: await idOf(merged), closedColumnId: await idOf(closed) }
}

/** The named column in the current project. */
async function resolveOwnColumn(context: Context, wanted: string) {
  const { id: projectId } = await context.project()
  return { projectId, column: await resolveColumn(context, projectId, wanted) }
}

function registerDelete(columns: Command): void {
  const command = columns
    .command('delete <column>')
    .summary('Delete an empty column')
    .description('Delete a column without cards.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openContext(command)
      const { projectId, column } = await resolveOwnColumn(context, wanted)
      await confirm(context, `Delete column ${column.id} "${column.name}"?`, yes)
      await context.client.columns.delete({ projectId, columnId: column.id })
      context.out.done(`Deleted column ${column.id}.`)
    })
  example(command, 'board columns delete Review')

  const clear = columns
    .command('clear <column>')
    .summary('Delete all cards of a column')
    .description(
      'Delete all cards of a column, including the cards that were archived from it. You can restore them for 30 days.',
    )
    .option('-y, --yes', 'skip the confirmation prompt')
    .option('--dry-run', 'show what would be deleted, without deleting it')
    .action(async (wanted: string, options: { yes?: boolean; dryRun?: boolean }) => {
      const context = await openContext(clear)
      const { projectId, column } = await resolveOwnColumn(context, wanted)
      const { cardCount } = column as Listed
      const what = `${cardCount ?? 'all'} card${cardCount === 1 ? '' : 's'} of column ${column.id} "${column.name}"`
      if (options.dryRun)
        return context.out.wouldDelete(`${what}, and those archived from it`, {
          id: column.id,
          name: column.name,
          cards: cardCount ?? null,
        })
      await confirm(context, `Delete ${what}, and those archived from it?`, options.yes)
      await context.client.columns.clear({ projectId, columnId: column.id })
      context.out.done(`Deleted ${what}, and those archived from it.`)
    })
  example(clear, 'board columns clear Done', 'board columns clear Done --dry-run')
}

function registerReorder(columns: Command): void {
  const command = columns
    .command('reorder <columns...>')
    .summary("Reorder a board's columns")
    .description('Reorder the columns of a board: the specified ones first, then the others in their current order.')
    .action(async (wanted: string[]) => {
      const context = await openContext(command)
      const { projectId, column } = await resolveOwnColumn(context, wanted[0]!)
      const ids = reorderIds(
        'column',
        await listColumns(context, projectId, column.boardId),
        wanted,
        'board columns list',
      )
      await context.out.list<Listed>(await context.client.columns.reorder({ projectId, ids }), columnFields)
    })
  prints(command, 'columns.list')
  example(command, 'board columns reorder Review Done')
}
