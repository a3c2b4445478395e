import { Option, type Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { chosenAgent, chosenProfile } from '../agents/agentOption.ts'
import { parseNames, peopleWords, resolvePeople } from '../cards/planOptions.ts'
import { requirementWords } from '../../src/boardModel/gateWords.ts'
import { approverRoles, type GateKind } from '../../src/contract/boards/gates.ts'
import { openContext, type Context } from '../context/context.ts'
import { listColumns, resolveColumn, resolveGate } from '../context/resolve.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { confirm } from '../input/prompt.ts'
import { reorderIds } from '../input/reorder.ts'
import type { Column } from '../output/output.ts'
import { count } from '../parsing/arguments.ts'

type Gate = Output<Contract['gates']['create']>
/** A gate with the name of its column. */
type Row = Gate & { columnName: string | null }

/** Where a gate is: `--column` names the column that a card leaves, `--merge` stands for the merge. */
interface PlaceOptions {
  column?: string
  merge?: boolean
}
interface EditOptions extends PlaceOptions {
  name?: string
  command?: string
  minutes?: number
  approvals?: number
  role?: 'member' | 'admin'
  approver?: string[]
  agent?: string
  agentProfile?: string
  prompt?: string
}

const gateFields: Column<Row>[] = [
  { name: 'id', style: 'id', align: 'right', value: gate => gate.id },
  { name: 'name', style: 'title', value: gate => gate.name },
  {
    name: 'columnName',
    header: 'BEFORE',
    value: gate => (gate.columnId === null ? 'merge' : `leaving ${gate.columnName}`),
  },
  { name: 'requires', style: 'text', value: requirementWords },
  { name: 'minutes', header: 'MINUTES', align: 'right', spare: true, value: gate => gate.minutes },
  ...(['kind', 'command', 'approvals', 'approverRole', 'approverIds', 'agent', 'profile', 'prompt'] as const).map(
    (name): Column<Row> => ({
      name,
      hidden: true,
      value: gate => gate[name],
    }),
  ),
  { name: 'columnId', hidden: true, value: gate => gate.columnId },
  { name: 'position', hidden: true, value: gate => gate.position },
]

const addPlaceOptions = (command: Command): Command =>
  command
    .option('--column <column>', 'check cards that move forward from this column (name or ID)')
    .addOption(new Option('--merge', 'check cards before they are merged').conflicts('column'))
const addKindOptions = (command: Command): Command =>
  command
    .option('--minutes <number>', 'time limit of the command or the review', count)
    .option('--approvals <number>', 'number of people who must approve', count)
    .addOption(new Option('--role <role>', 'minimum project role of these people').choices(approverRoles))
    .option('--approver <person>', `only these people can approve: ${peopleWords}; can be repeated`, parseNames)
    .option('--agent <agent>', "agent that reviews; none for the card's own")
    .option('--agent-profile <agent-profile>', 'profile of the agent that reviews (see: board agents profiles)')
    .option('--prompt <text>', 'instructions for the agent, which follow those of the board')

export function register(gates: Command): void {
  const list = gates
    .command('list')
    .summary('List gates')
    .description('List the gates of a project in the order in which they run.')
    .action(async () => showGates(await openContext(list)))
  prints(list, 'gates.list', 'columnName')
  example(list, 'board gates list', 'board gates list --json id,name,command')
  registerAdd(gates)
  registerEdit(gates)
  registerDelete(gates)
  registerReorder(gates)
}

function registerAdd(gates: Command): void {
  const add = addKindOptions(
    addPlaceOptions(
      gates
        .command('add <name> [command]')
        .summary('Add a gate')
        .description(
          "Add a command that must succeed before a card moves forward from a column, or before it is merged. It runs in the card's worktree, in the sandbox of the project's agents, and must not change files. Its result counts until the files change. Put quick commands first: board gates reorder. With --approvals instead of a command, people must approve the files in a review. With --agent, --agent-profile or --prompt, an agent reviews the files in a new session, in a read-only sandbox. Each review uses tokens.",
        ),
    ),
  ).action(async (name: string, command: string | undefined, options: EditOptions) => {
    if (options.column === undefined && !options.merge)
      throw usage('no place is specified', { hint: 'specify --column or --merge', see: 'board gates add --help' })
    const [kind, ...others] = kindsIn(command, options)
    if (kind === undefined || others.length > 0)
      throw usage('a gate is a command, approvals or a review', {
        hint: 'specify a command, --approvals, or --agent',
        see: 'board gates add --help',
      })
    const context = await openContext(add)
    const { id: projectId } = await context.project()
    const columnId = await columnIdOf(context, projectId, options)
    const gate = await context.client.gates.create({
      projectId,
      name,
      kind,
      columnId,
      command,
      ...(await kindFieldsOf(context, projectId, options)),
    })
    context.out.done(`Added gate ${gate.id}.`)
    await context.out.record((await withColumns(context, projectId, [gate]))[0]!, gateFields)
  })
  prints(add, 'gates.list', 'columnName')
  example(
    add,
    'board gates add tests "npm test" --merge',
    'board gates add lint "npm run lint" --column "In Progress"',
    'board gates add people --approvals 1 --role admin --merge',
    'board gates add review --agent claude --prompt "Look for races." --merge',
  )
}

function registerEdit(gates: Command): void {
  const edit = addKindOptions(
    addPlaceOptions(
      gates
        .command('edit <gate>')
        .summary('Change a gate')
        .description(
          'Change a gate. After a change of its command, its reviewer or its prompt, all cards must pass it again.',
        ),
    )
      .option('--name <name>', 'new name')
      .option('--command <text>', 'new command'),
  ).action(async (wanted: string, options: EditOptions) => {
    if (Object.keys(options).length === 0)
      throw usage('nothing to change', { hint: 'specify an option', see: 'board gates edit --help' })
    const { name, command } = options
    const context = await openContext(edit)
    const { projectId, gateId } = await resolveGate(context, wanted)
    const isMoved = options.column !== undefined || options.merge
    const columnId = isMoved ? await columnIdOf(context, projectId, options) : undefined
    const fields = { name, command, columnId, ...(await kindFieldsOf(context, projectId, options)) }
    const edited = await context.client.gates.update({ projectId, gateId, ...fields })
    await context.out.did(edited, `Edited gate ${gateId}.`)
  })
  prints(edit, 'gates.list')
  example(edit, 'board gates edit tests --command "npm run test:all"', 'board gates edit lint --merge --minutes 5')
}

/** The kinds of gates that the arguments describe. */
function kindsIn(command: string | undefined, { approvals, agent, agentProfile, prompt }: EditOptions): GateKind[] {
  const isReview = (agent ?? agentProfile ?? prompt) !== undefined
  return [
    ...(command === undefined ? [] : ['command' as const]),
    ...(approvals === undefined ? [] : ['approval' as const]),
    ...(isReview ? ['review' as const] : []),
  ]
}

const kindFieldsOf = async (
  context: Context,
  projectId: string,
  { minutes, approvals, role, approver, agent, agentProfile, prompt }: EditOptions,
) => ({
  minutes,
  approvals,
  approverRole: role,
  approverIds: await resolvePeople(context, projectId, approver),
  agent: await chosenAgent(context, agent),
  profile: await chosenProfile(context, agentProfile),
  prompt,
})

function registerDelete(gates: Command): void {
  const command = gates
    .command('delete <gate>')
    .summary('Delete a gate')
    .description('Delete a gate with its results. Cards no longer need it.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openContext(command)
      const { name, ...place } = await resolveGate(context, wanted)
      await confirm(context, `Delete gate ${place.gateId} "${name}"?`, yes)
      await context.client.gates.delete(place)
      context.out.done(`Deleted gate ${place.gateId}.`)
    })
  example(command, 'board gates delete lint', 'board gates delete 3 --yes')
}

function registerReorder(gates: Command): void {
  const command = gates
    .command('reorder <gates...>')
    .summary('Reorder gates')
    .description('Reorder the gates of a project: the specified ones first, then the others in their current order.')
    .action(async (wanted: string[]) => {
      const context = await openContext(command)
      const { id: projectId } = await context.project()
      const ids = reorderIds('gate', await context.client.gates.list({ projectId }), wanted, 'board gates list')
      await context.client.gates.reorder({ projectId, ids })
      await showGates(context)
    })
  prints(command, 'gates.list', 'columnName')
  example(command, 'board gates reorder lint tests')
}

async function showGates(context: Context): Promise<void> {
  const { id: projectId } = await context.project()
  const rows = await withColumns(context, projectId, await context.client.gates.list({ projectId }))
  await context.out.list(rows, gateFields, { empty: 'No gates.' })
}

async function withColumns(context: Context, projectId: string, gates: readonly Gate[]): Promise<Row[]> {
  const columns = gates.some(({ columnId }) => columnId !== null) ? await listColumns(context, projectId) : []
  const names = new Map(columns.map(({ id, name }) => [id, name]))
  return gates.map(gate => ({
    ...gate,
    columnName: gate.columnId === null ? null : (names.get(gate.columnId) ?? null),
  }))
}

const columnIdOf = async (context: Context, projectId: string, { column }: PlaceOptions): Promise<string | null> =>
  column === undefined ? null : (await resolveColumn(context, projectId, column)).id
