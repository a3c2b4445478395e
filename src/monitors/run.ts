import { setTimeout as delay } from 'node:timers/promises'
import { logFailure, type Log } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import { monitorLimits } from '../contract/automation/monitors.ts'
import { requireCardFolder } from './monitorFolders.ts'
import type { RunResult } from '../domain/automation/monitorRuns.ts'
import { commandEnvironment } from '../process/environment.ts'
import { readPaced } from '../process/pacedReading.ts'
import { shellCommand } from '../process/shellCommand.ts'
import { LaunchFailed, type Child, type Exit, type ProcessTrees } from '../process/spawn.ts'
import { createTextTail } from '../process/textTail.ts'
import { readCard } from '../store/cards/cards.ts'
import type { Database } from '../store/engine/database.ts'
import type { MonitorRow } from '../store/automation/monitors.ts'
import { readProject } from '../store/projects/projects.ts'

const termMs = 1000
const lastWordsMs = 500
const retryStopMs = 1000

/** The parts of the board that a run uses. `url` is the address of this server, and `timeoutMs` is the time limit of a command. */
export interface RunDependencies {
  db: Database
  processTrees: ProcessTrees
  log: Log
  url: string
  timeoutMs: number
}

/**
 * Runs a monitor's command once, in its folder: to its end, to the time limit or until `stopped` is aborted with the reason. When
 * it resolves, all processes of the command have exited. Never rejects.
 */
export async function runCommand(
  dependencies: RunDependencies,
  monitor: MonitorRow,
  stopped: AbortSignal,
): Promise<RunResult> {
  const cutShort = (output = ''): RunResult => ({ exitCode: null, error: String(stopped.reason), output })
  const started = await start(dependencies, monitor, stopped).catch((error: unknown) =>
    explain(dependencies, monitor, error),
  )
  if (stopped.aborted && !isChild(started)) return cutShort()
  if (!isChild(started)) return { outcome: 'error', exitCode: null, error: started, output: '' }
  const output = collectOutput(started)
  const end = await endOf(started, dependencies.timeoutMs, stopped)
  await killRemaining(dependencies, started, monitor.id)
  const words = await output()
  if (end === 'stopped') return cutShort(words)
  if (end === 'timeout')
    return {
      outcome: 'timeout',
      exitCode: null,
      error: `The command ran longer than ${durationWords(dependencies.timeoutMs)} and was stopped.`,
      output: words,
    }
  return {
    outcome: end.code === 0 ? 'ok' : 'failing',
    exitCode: end.code,
    error: end.signal === null ? null : `The command was ended by ${end.signal}.`,
    output: words,
  }
}

const isChild = (started: Child | string): started is Child => typeof started !== 'string'

/** Starts the command, or returns why it could not start. */
async function start(
  { db, processTrees, url }: RunDependencies,
  { projectId, cardId, cwd, command }: MonitorRow,
  stopped: AbortSignal,
): Promise<Child | string> {
  const [card, project] = [await readCard(db, projectId, cardId), await readProject(db, projectId)]
  if (!card || !project) return 'The card was deleted.'
  const folder = await requireCardFolder(db, cwd, card, project)
  if (stopped.aborted) return 'Stopped.'
  return processTrees.spawn({
    command: shellCommand(command),
    cwd: folder,
    env: commandEnvironment({ url, projectId, cardId }),
    stdin: 'ignore',
    kind: 'monitor',
  })
}

function explain({ log }: RunDependencies, { id }: MonitorRow, error: unknown): string {
  if (error instanceof Problem || error instanceof LaunchFailed) return error.message
  logFailure(log, 'A monitor could not be run.', error, { monitorId: id })
  return "The server could not run the command. The server's log has the details."
}

/** Collects the tail of a command's output. The returned function returns it, once the processes have exited. */
function collectOutput({ stdout, stderr }: Child): () => Promise<string> {
  const tail = createTextTail(monitorLimits.maxOutputBytes)
  const told = Promise.all([stdout, stderr].map(stream => readPaced(stream, tail.add)))
  return async () => {
    const over = new AbortController()
    await Promise.race([
      told,
      delay(lastWordsMs, undefined, { signal: over.signal }).catch(() => {
        /* Already part of the output. */
      }),
    ])
    over.abort()
    for (const stream of [stdout, stderr]) stream.destroy()
    return tail.read().output
  }
}

async function endOf(
  { exited }: Child,
  timeoutMs: number,
  stopped: AbortSignal,
): Promise<Exit | 'timeout' | 'stopped'> {
  const over = new AbortController()
  const { signal } = over
  const stop = new Promise<'stopped'>(resolve => {
    if (stopped.aborted) return resolve('stopped')
    stopped.addEventListener('abort', () => resolve('stopped'), { once: true, signal })
  })
  const late = delay(timeoutMs, 'timeout' as const, { signal }).catch(() => 'timeout' as const)
  const end = await Promise.race([stop, exited, late])
  over.abort()
  return end
}

/**
 * Kills the remaining processes of a command. While some survive, the monitor does not run again. On a busy machine, a killed
 * process can take long to exit, so the first failure is only a warning.
 */
async function killRemaining({ log }: RunDependencies, child: Child, monitorId: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const isGone = await child.stop({ termMs }).catch((error: unknown) => error)
    if (isGone === true) return
    log(attempt === 1 && isGone === false ? 'warn' : 'error', 'A process of a monitor could not be stopped.', {
      monitorId,
      pids: [...child.tree.seen.keys()],
      ...(isGone instanceof Error && { cause: isGone.stack }),
    })
    await delay(retryStopMs)
  }
}

const durationWords = (ms: number) => (ms % 60_000 === 0 ? `${ms / 60_000} minutes` : `${ms / 1000} seconds`)
