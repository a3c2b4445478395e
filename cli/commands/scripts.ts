import type { Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { openContext, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { reorderIds } from '../input/reorder.ts'
import type { Column } from '../output/output.ts'
import { confirm, readText } from '../input/prompt.ts'
import { resolveScript } from '../context/resolve.ts'
import { registerRun } from './scripts/run.ts'

type Script = Output<Contract['scripts']['create']>
interface EditOptions {
  name?: string
  command?: string
  file?: string
}

const scriptFields: Column<Script>[] = [
  { name: 'id', style: 'id', align: 'right', value: script => script.id },
  { name: 'name', style: 'title', value: script => script.name },
  { name: 'command', style: 'text', value: script => script.command },
  { name: 'position', hidden: true, value: script => script.position },
]
const fileOption = ['-F, --file <file>', 'file with the command, or - for stdin'] as const

export function register(scripts: Command): void {
  const list = scripts
    .command('list')
    .summary('List scripts')
    .description('List the scripts of a project in their order.')
    .action(async () => {
      const context = await openContext(list)
      const { id: projectId } = await context.project()
      await context.out.list(await context.client.scripts.list({ projectId }), scriptFields, { empty: 'No scripts.' })
    })
  prints(list, 'scripts.list')
  example(list, 'board scripts list', 'board scripts list --json id,name')
  registerAdd(scripts)
  registerEdit(scripts)
  registerDelete(scripts)
  registerRun(scripts)
  registerReorder(scripts)
}

function registerAdd(scripts: Command): void {
  const add = scripts
    .command('add <name> [command]')
    .summary('Add a script')
    .description(
      "Add a shell command that runs in the project's folder on the server, with the permissions of the server's account.",
    )
    .option(...fileOption)
    .action(async (name: string, typed: string | undefined, { file }: { file?: string }) => {
      const command = await readCommand(typed, file)
      if (command === undefined)
        throw usage('no command is specified', { hint: 'specify the command or -F', see: 'board scripts add --help' })
      const context = await openContext(add)
      const { id: projectId } = await context.project()
      const script = await context.client.scripts.create({ projectId, name, command })
      context.out.done(`Added script ${script.id}.`)
      await context.out.record(script, scriptFields)
    })
  prints(add, 'scripts.list')
  example(add, 'board scripts add test "npm test"', 'board scripts add deploy -F deploy.sh')
}

function registerEdit(scripts: Command): void {
  const edit = scripts
    .command('edit <script>')
    .summary('Change a script')
    .description('Change the name or the command of a script. A current run is unchanged.')
    .option('--name <name>', 'new name')
    .option('--command <text>', 'new command')
    .option(...fileOption)
    .action(async (wanted: string, { name, command: typed, file }: EditOptions) => {
      const command = await readCommand(typed, file)
      if (name === undefined && command === undefined)
        throw usage('nothing to change', { hint: 'specify --name, --command or -F', see: 'board scripts edit --help' })
      const context = await openContext(edit)
      const place = await resolveScript(context, wanted)
      const edited = await context.client.scripts.update({ ...place, name, command })
      await context.out.did(edited, `Edited script ${place.scriptId}.`)
    })
  prints(edit, 'scripts.list')
  example(edit, 'board scripts edit test --command "npm run test:all"', 'board scripts edit test --name check')
}

async function readCommand(typed: string | undefined, file: string | undefined): Promise<string | undefined> {
  if (typed !== undefined && file !== undefined)
    throw usage('the command is specified twice', { hint: 'specify the command as text or with -F, not both' })
  return file === undefined ? typed : readText(file, '-F')
}

function registerDelete(scripts: Command): void {
  const command = scripts
    .command('delete <script>')
    .summary('Delete a script')
    .description('Delete a script, and stop its current run.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openContext(command)
      const { name, ...place } = await resolveScript(context, wanted)
      await confirm(context, `Delete script ${place.scriptId} "${name}"?`, yes)
      await context.client.scripts.delete(place)
      context.out.done(`Deleted script ${place.scriptId}.`)
    })
  example(command, 'board scripts delete deploy', 'board scripts delete 3 --yes')
}

function registerReorder(scripts: Command): void {
  const command = scripts
    .command('reorder <scripts...>')
    .summary('Reorder scripts')
    .description('Reorder the scripts of a project: the specified ones first, then the others in their current order.')
    .action(async (wanted: string[]) => reorderScripts(await openContext(command), wanted))
  prints(command, 'scripts.list')
  example(command, 'board scripts reorder test deploy')
}

async function reorderScripts(context: Context, wanted: readonly string[]): Promise<void> {
  const { id: projectId } = await context.project()
  const ids = reorderIds('script', await context.client.scripts.list({ projectId }), wanted, 'board scripts list')
  await context.out.list(await context.client.scripts.reorder({ projectId, ids }), scriptFields)
}
