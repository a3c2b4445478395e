import type { Command } from 'commander'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { count, durationSecs } from '../parsing/arguments.ts'
import { Failure } from '../failures/failure.ts'
import { globalsOf } from '../parsing/globals.ts'
import { example } from '../help/help.ts'
import { dataFolder } from '../../src/config/paths.ts'
import {
  findLocalServer,
  forgetStale,
  startLocalServer,
  stopLocalServer,
  type LocalServer,
} from '../context/localServer.ts'
import { drawLogEntry, parseLogLine } from '../output/logEntry.ts'
import { createOutput } from '../output/createOutput.ts'
import type { Column, Out } from '../output/output.ts'
import type { Service } from '../server/serviceFile.ts'
import { programsOf } from '../programs.ts'
import { write } from '../output/streams.ts'
import { escapeControls } from '../output/text.ts'
import {
  installedService,
  isServiceProcess,
  runService,
  serviceArguments,
  whyUnreachable,
} from '../server/serviceManager.ts'
import { registerInstall } from './server/install.ts'

interface Status {
  state: string
  url: string | null
  pid: number | null
  version: string | null
  startedAt: string | null
  dataDir: string
  worktreeRoot: string | null
  service: string | null
  managed: boolean
}
const fields: Column<Status>[] = [
  { name: 'state', value: each => each.state },
  { name: 'url', value: each => each.url },
  { name: 'pid', header: 'Process', value: each => each.pid },
  { name: 'version', value: each => each.version },
  { name: 'startedAt', header: 'Started', style: 'time', value: each => each.startedAt },
  { name: 'dataDir', header: 'Data', value: each => each.dataDir },
  { name: 'worktreeRoot', header: 'Worktrees', value: each => each.worktreeRoot },
  { name: 'service', value: serviceText },
  { name: 'managed', hidden: true, value: each => each.managed },
]

export function register(server: Command): void {
  const { path } = programsOf(server)
  const start = server
    .command('start [arguments...]')
    .summary('Start a server in the background')
    .description(
      'Start a server in the background, and wait until it responds. Options of board serve follow --. If a server is already running, the command changes nothing.',
    )
    .option('--wait [time]', 'time limit for the server to respond: 30s, 2m', durationSecs, 15)
    .action(async (args: string[], { wait }: { wait: number | true }) =>
      startServer(path, outOf(start), args, secsOf(wait)),
    )
  example(start, 'board server start', 'board server start -- --port 4500 --agent-slots 2')
  const stop = server
    .command('stop')
    .summary('Stop the server')
    .description(
      'Stop the server of this account on this machine. It accepts no new work, finishes requests, and stops agents.',
    )
    .option('--timeout <seconds>', 'time limit', count, 20)
    .action(async (_: object, command: Command) => stopServer(outOf(stop), timeoutOf(command)))
  example(stop, 'board server stop')
  const restart = server
    .command('restart')
    .summary('Restart the server')
    .description('Restart the server with the same options.')
    .option('--wait [time]', 'time limit for the server to respond: 30s, 2m', durationSecs, 15)
    .action(async ({ wait }: { wait: number | true }) => {
      const before = await findLocalServer()
      const isService = before.state === 'running' && (await runsAsService(before))
      await stopServer(outOf(restart), 20)
      if (before.state !== 'running' || isService) await startServer(path, outOf(restart), [], secsOf(wait))
      else await startedPlain(path, outOf(restart), before.runtime?.args ?? [], secsOf(wait))
    })
  example(restart, 'board server restart')
  const status = server
    .command('status')
    .summary('Show the status of the server')
    .description(
      'Show the server of this account on this machine. If no server is running or responding, the command exits with 7.',
    )
    .option('--exit-status', 'no effect: the command always does this')
    .action(async () => showStatus(outOf(status), true))
  example(status, 'board server status', 'board server status -q || board server start')
  const logs = server
    .command('logs')
    .summary("Print the end of the server's log files")
    .description(
      'Print the last lines of the log files, even if the server is not running. board logs reads the log of a running server.',
    )
    .option('-n, --lines <number>', 'number of lines', count, 50)
    .action(({ lines }: { lines: number }) => printLogs(outOf(logs), lines))
  example(logs, 'board server logs', 'board server logs -n 1000 | jq -r \'select(.level == "error")\'')
  registerInstall(server, path)
}

/** `--wait` without a value uses the default, because the command always waits. */
const secsOf = (wait: number | true): number => (wait === true ? 15 : wait)

const outOf = (command: Command): Out => createOutput(globalsOf(command)).out

/** Returns the value of `--timeout`, which is also a global option: both positions set it. */
function timeoutOf(command: Command): number {
  const own = command.getOptionValueSource('timeout') === 'cli' ? Number(command.getOptionValue('timeout')) : undefined
  return own ?? globalsOf(command).timeout ?? 20
}

async function startServer(program: string, out: Out, args: readonly string[], waitSecs: number): Promise<void> {
  const present = await findLocalServer()
  if (present.state === 'running')
    out.done(`A server is already running: ${present.runtime!.url} (process ${present.runtime!.pid}).`)
  else if (args.length === 0 && installedService()) await startedService(program, out, installedService()!, waitSecs)
  else await startedPlain(program, out, args, waitSecs)
  if (out.json) await showStatus(out)
}

/** Starts the installed service. If the service manager is not reachable, starts a process with the same arguments. */
async function startedService(program: string, out: Out, service: Service, waitSecs: number): Promise<void> {
  const why = await whyUnreachable(service)
  if (why === undefined) {
    await runService(service, 'start')
    return out.done(`Started the service ${service.path}.`)
  }
  out.warn(`${service.manager} is not reachable (${why}); the server is started without it`)
  await startedPlain(program, out, serviceArguments(service), waitSecs)
}

async function startedPlain(program: string, out: Out, args: readonly string[], waitSecs: number): Promise<void> {
  const { url, pid } = await startLocalServer(program, args, waitSecs)
  out.done(`Started a server: ${url} (process ${pid}). Stop it with: board server stop`)
}

/** Whether the platform's service manager started the running server. */
async function runsAsService({ runtime }: LocalServer): Promise<boolean> {
  const service = installedService()
  return service !== undefined && runtime !== undefined && isServiceProcess(service, runtime.pid)
}

async function stopServer(out: Out, timeoutSecs: number): Promise<void> {
  const found = await findLocalServer()
  const { state, runtime, dataDir } = found
  if (state === 'none') return out.done(`No server is running on ${dataDir}.`)
  if (state === 'stale') {
    forgetStale(dataDir)
    return out.done(`No server is running on ${dataDir}; the files of a killed server were removed.`)
  }
  if (await runsAsService(found)) await runService(installedService()!, 'stop')
  else await stopLocalServer(runtime!, timeoutSecs)
  out.done(`Stopped the server (process ${runtime!.pid}).`)
}

async function showStatus(out: Out, exitStatus = false): Promise<void> {
  const found = await findLocalServer()
  const running = found.state === 'running' ? found.runtime! : undefined
  const status: Status = {
    state: stateText(found),
    url: running?.url ?? null,
    pid: running?.pid ?? null,
    version: found.version,
    startedAt: running?.startedAt ?? null,
    dataDir: found.dataDir,
    worktreeRoot: running?.worktreeRoot ?? null,
    service: installedService()?.path ?? null,
    managed: running !== undefined && (await runsAsService(found)),
  }
  if (!out.quiet || out.json)
    await out.record(status, out.terminal.stdout ? fields.filter(({ value }) => value(status) !== null) : fields)
  if (found.version !== null && found.version !== manifest.version)
    out.warn(
      `the server is version ${found.version} and this program ${manifest.version}; restart it with: board server restart`,
    )
  if (exitStatus && !running) throw new Failure('unreachable', 'no server is running', { see: 'board server start' })
  if (exitStatus && !found.answers)
    throw new Failure('unreachable', 'the server does not respond', { see: 'board server logs' })
}

function serviceText({ service, managed, pid }: Status): string | null {
  return service !== null && pid !== null && !managed ? `${service} (not the running server)` : service
}

const stateText = ({ state, answers }: LocalServer): string =>
  state === 'running' && !answers
    ? 'running (does not respond)'
    : state === 'stale'
      ? 'not running (the last server was killed)'
      : state === 'none'
        ? 'not running'
        : 'running'

/** The last lines of the newest files, oldest first. */
async function printLogs(out: Out, lines: number): Promise<void> {
  const folder = join(dataFolder(), 'logs')
  const files = filesIn(folder)
  if (files.length === 0) throw new Failure('notFound', `there is no log in ${folder}`, { see: 'board server status' })
  const kept: string[] = []
  for (const file of files) {
    if (kept.length >= lines) break
    kept.unshift(
      ...readFileSync(join(folder, file), 'utf8')
        .split('\n')
        .filter(Boolean)
        .slice(-(lines - kept.length)),
    )
  }
  if (out.json) return out.value(kept.map(parseLogLine).filter(entry => entry !== undefined))
  if (!out.terminal.stdout) return write(kept.map(line => `${line}\n`).join(''))
  await out.text(
    kept
      .map(line => {
        const entry = parseLogLine(line)
        return entry ? drawLogEntry(out, entry) : `${escapeControls(line)}\n`
      })
      .join(''),
  )
}

/** Newest first: `board.log`, `board.1.log`, `board.2.log`. */
function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter(name => /^\w+(\.\d+)?\.log$/.test(name))
      .sort((a, b) => numberOf(a) - numberOf(b))
  } catch {
    return []
  }
}

const numberOf = (name: string): number => Number(/\.(\d+)\.log$/.exec(name)?.[1] ?? 0)
