import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { durationSecs } from '../parsing/arguments.ts'
import { runBulk, readIds } from '../input/bulk.ts'
import { openContext, requireScreen, requireUser, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { readMonitors, type Monitor } from '../cards/monitorApi.ts'
import type { Column } from '../output/output.ts'
import { confirm } from '../input/prompt.ts'

interface AddOptions {
  every: number
  description?: string
  cwd?: string
  allowUnsandboxed?: boolean
}

const columns: Column<Monitor>[] = [
  { name: 'id', style: 'id', align: 'right', value: monitor => monitor.id },
  { name: 'cardId', header: 'CARD', align: 'right', value: monitor => monitor.cardId },
  { name: 'status', style: 'status', value: monitor => monitor.status },
  { name: 'exitCode', header: 'EXIT', align: 'right', value: monitor => monitor.exitCode },
  { name: 'lastStartedAt', header: 'RAN', style: 'time', value: monitor => monitor.lastStartedAt },
  { name: 'intervalSecs', header: 'EVERY', align: 'right', value: monitor => `${monitor.intervalSecs} s` },
  { name: 'command', style: 'text', value: monitor => monitor.command },
  { name: 'description', style: 'text', value: monitor => monitor.description },
  { name: 'error', style: 'text', value: monitor => monitor.error },
  { name: 'requestId', header: 'REQUEST', value: monitor => monitor.requestId },
]

export function register(monitors: Command): void {
  const list = monitors
    .command('list [card]')
    .summary('List monitors')
    .description(
      'List the monitors of a card with the results of their latest runs, or without a card those of the project. A monitor with a request waits for permission: board agents approve CARD --request REQUEST.',
    )
    .option('-w, --watch', 'show the live list until q or Ctrl-C')
    .action(async (cardId: string | undefined, { watch }: { watch?: boolean }) =>
      listMonitors(await openContext(list), cardId, watch),
    )
  prints(list, 'monitors.list')
  example(
    list,
    'board monitors list',
    'board monitors list 12',
    'board monitors list 12 --json --jq ".[0].output"',
    'board monitors list --watch',
  )
  registerAdd(monitors)
  registerDelete(monitors)
}

async function listMonitors(context: Context, cardId: string | undefined, watch: boolean | undefined): Promise<void> {
  const options = { empty: 'No monitors.' }
  if (!watch) return context.out.list(await (await selectSource(context, cardId)).load(), columns, options)
  requireScreen(context)
  requireUser(context, 'monitors list --watch')
  const { projectId, title, load } = await selectSource(context, cardId)
  const { watchList } = await import('../watch/watchList.ts')
  await watchList<Monitor>(context, projectId, { title, noun: 'monitor', columns }, async () => ({
    rows: await load(),
    more: false,
  }))
}

async function selectSource(
  context: Context,
  cardId: string | undefined,
): Promise<{ projectId: string; title: string; load: () => Promise<Monitor[]> }> {
  if (cardId !== undefined) {
    const { projectId, list } = await readMonitors(context, cardId)
    return { projectId, title: `card ${cardId}`, load: list }
  }
  const { id: projectId, name } = await context.project()
  return { projectId, title: name, load: () => context.client.monitors.listProject({ projectId }) }
}

function registerAdd(monitors: Command): void {
  const add = monitors
    .command('add <card> <command>')
    .summary('Run a command on a schedule')
    .description(
      "Run a shell command on a schedule while the card is active: on the server, with the permissions of the server's account, in the card's folder. The card's agent gets a message when the command starts to fail and when it succeeds again. Your monitors run immediately. A monitor of a sandboxed agent waits for permission from a user, unless the project allows monitors (board projects sandbox --monitors).",
    )
    .addOption(
      new Option('--every <time>', 'interval from 10s to 1d: 60, 5m, 1h').argParser(durationSecs).makeOptionMandatory(),
    )
    .option('--description <text>', 'description')
    .option('--cwd <folder>', "folder in the project or the card's worktree (default: the card's folder)")
    .option('--allow-unsandboxed', "confirm that the command runs with the permissions of the server's account")
    .action(async (cardId: string, command: string, { every, description, cwd, allowUnsandboxed }: AddOptions) => {
      if (!allowUnsandboxed)
        throw usage("the command would run with the server's own permissions, outside of any sandbox", {
          hint: 'to allow this: --allow-unsandboxed',
        })
      const context = await openContext(add)
      const card = await readMonitors(context, cardId)
      const monitor = await card.add({
        command,
        intervalSecs: every,
        description,
        cwd: cwd === undefined ? undefined : resolve(cwd),
      })
      context.out.done(`Added monitor ${monitor.id}.`)
      await context.out.record(monitor, columns)
    })
  prints(add, 'monitors.list')
  example(
    add,
    'board monitors add 12 "npm test" --every 5m --allow-unsandboxed',
    'board monitors add 12 "curl -fsS localhost:3000/health" --every 30 --description "The server answers" --allow-unsandboxed',
  )
}

function registerDelete(monitors: Command): void {
  const command = monitors
    .command('delete <card> <monitors...>')
    .summary('Delete monitors')
    .description('Delete monitors of a card, and stop their commands with all processes that they started.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (cardId: string, given: string[], { yes }: { yes?: boolean }) => {
      const context = await openContext(command)
      const ids = await readIds(given)
      await confirm(
        context,
        `Delete ${ids.length === 1 ? `monitor ${ids[0]}` : `${ids.length} monitors`} of card ${cardId}?`,
        yes,
      )
      const card = await readMonitors(context, cardId)
      await runBulk(context, ids, id => card.delete(id), { verb: 'deleted' })
    })
  prints(command, null, 'id result error')
  example(command, 'board monitors delete 12 3', 'board monitors list 12 -q | board monitors delete 12 - --yes')
}
