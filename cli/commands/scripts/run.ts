import type { Command } from 'commander'
import { openContext, requireScreen, type Context } from '../../context/context.ts'
import { Failure } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'
import { resolveScript, type ScriptPlace } from '../../context/resolve.ts'
import { reconnectOption } from '../../requests/outage.ts'
import { followRun, type ScriptStatus } from '../../requests/scriptRun.ts'
import { escapeControls } from '../../output/text.ts'

interface RunOptions {
  wait?: boolean
  exitStatus?: boolean
  reconnect: number
}
type Row = ScriptStatus & { name: string }

const statusColumns: Column<Row>[] = [
  { name: 'scriptId', header: 'ID', style: 'id', align: 'right', value: run => run.scriptId },
  { name: 'name', style: 'title', value: run => run.name },
  { name: 'status', style: 'status', value: run => run.status },
  { name: 'exitCode', header: 'EXIT', align: 'right', value: run => run.exitCode },
  { name: 'startedAt', header: 'STARTED', style: 'time', value: run => run.startedAt },
  { name: 'finishedAt', header: 'FINISHED', style: 'time', value: run => run.finishedAt },
  { name: 'error', style: 'text', value: run => run.error },
  { name: 'pid', hidden: true, value: run => run.pid },
  { name: 'output', hidden: true, value: run => run.output },
  { name: 'outputStart', hidden: true, value: run => run.outputStart },
]
/** A cursor beyond all output, so that the server omits the output. */
const noOutput = Number.MAX_SAFE_INTEGER

export function registerRun(scripts: Command): void {
  const run = scripts
    .command('run <script>')
    .summary('Run a script')
    .description('Run a script. A script has one run at a time. When it ends, its background processes are stopped.')
    .option(
      '-w, --wait',
      'print the output until the script ends, for up to --timeout; Ctrl-C stops waiting, not the script',
    )
    .option('--exit-status', "wait, and exit with the script's exit code")
    .addOption(reconnectOption())
    .action(async (wanted: string, options: RunOptions) => startScript(await openContext(run), wanted, options))
  prints(run, 'scripts.run', 'name')
  example(
    run,
    'board scripts run test --wait',
    'board scripts run test --exit-status && board scripts run deploy --exit-status',
  )

  const cancel = scripts
    .command('cancel <script>')
    .summary("Cancel a script's run")
    .description('Stop the run of a script and all processes that it started.')
    .action(async (wanted: string) => {
      const context = await openContext(cancel)
      const place = await resolveScript(context, wanted)
      const run = await context.client.scripts.cancel(place)
      await context.out.did(run, `Cancelling script ${place.scriptId}.`)
    })
  prints(cancel, 'scripts.cancel')
  example(cancel, 'board scripts cancel deploy')

  const status = scripts
    .command('status [script]')
    .summary('Show the latest runs')
    .description('Show the latest run of each script, or of one script with its last output.')
    .option('-w, --watch', 'show the live runs until q or Ctrl-C')
    .action(async (wanted: string | undefined, { watch }: { watch?: boolean }) =>
      showRuns(await openContext(status), wanted, watch),
    )
  prints(status, 'scripts.status', 'name')
  example(
    status,
    'board scripts status',
    'board scripts status test',
    'board scripts status --watch',
    'board scripts status --jq \'.[] | select(.status == "failed") | .scriptId\'',
  )
}

async function startScript(
  context: Context,
  wanted: string,
  { wait, exitStatus, reconnect }: RunOptions,
): Promise<void> {
  const { name, ...place } = await resolveScript(context, wanted)
  const begun = await context.client.scripts.run(place)
  if (!wait && !exitStatus) {
    context.out.done(`Started script ${place.scriptId}; its output: board scripts status ${place.scriptId}`)
    return context.out.record({ ...begun, name }, statusColumns.slice(0, 3))
  }
  const run = await followRun(context, place, begun, reconnect)
  if (context.out.json || context.out.quiet) await context.out.record({ ...run, name }, statusColumns)
  context.out.done(`Script ${place.scriptId} ${describeRun(run)}`)
  if (exitStatus) exitWith(place, run)
}

/** Exits with the script's exit code. A cancelled script, or one that could not run, has no exit code. */
function exitWith({ scriptId }: ScriptPlace, run: ScriptStatus): void {
  if (run.status === 'succeeded') return
  if (!run.exitCode)
    throw new Failure('failure', `script ${scriptId} ${run.status === 'cancelled' ? 'was cancelled' : 'failed'}`, {
      see: `board scripts status ${scriptId}`,
    })
  process.exitCode = run.exitCode
}

function describeRun({ status, exitCode, error, startedAt, finishedAt }: ScriptStatus): string {
  const secs = startedAt && finishedAt ? (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000 : 0
  const how =
    status === 'failed' && exitCode !== null
      ? `failed with exit code ${exitCode}`
      : status === 'cancelled'
        ? 'was cancelled'
        : status
  return `${how} after ${secs.toFixed(1)} s.${error ? ` ${escapeControls(error)}` : ''}`
}

async function showRuns(context: Context, wanted: string | undefined, watch: boolean | undefined): Promise<void> {
  const { id: projectId, name: title } = await context.project()
  const only = wanted === undefined ? undefined : (await resolveScript(context, wanted)).scriptId
  const load = (since?: number) => readRows(context, { projectId, scriptId: only }, since)
  if (!watch) {
    if (only === undefined)
      return context.out.list(await load(context.out.json ? undefined : noOutput), statusColumns, {
        empty: 'No scripts.',
      })
    const [run] = await load()
    return context.out.record(run!, statusColumns, { body: run!.output })
  }
  requireScreen(context)
  const { watchList } = await import('../../watch/watchList.ts')
  await watchList<Row>(
    context,
    projectId,
    { title, noun: 'script', columns: statusColumns.filter(({ hidden }) => !hidden) },
    async () => ({ rows: await load(noOutput), more: false }),
  )
}

async function readRows(
  { client }: Context,
  { projectId, scriptId }: { projectId: string; scriptId: string | undefined },
  since?: number,
): Promise<Row[]> {
  const [scripts, runs] = await Promise.all([
    client.scripts.list({ projectId }),
    client.scripts.status({ projectId, ...(scriptId !== undefined && { scriptId: Number(scriptId) }), since }),
  ])
  const names = new Map(scripts.map(({ id, name }) => [id, name]))
  return runs.map(run => ({ ...run, name: names.get(run.scriptId) ?? '' }))
}
