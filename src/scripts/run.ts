import { setTimeout as delay } from 'node:timers/promises'
import { retry } from '../async/retry.ts'
import type { SerialQueue } from '../async/serialQueue.ts'
import { logFailure, type Log } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import { finish } from '../domain/automation/scripts.ts'
import { commandEnvironment } from '../process/environment.ts'
import { readPaced } from '../process/pacedReading.ts'
import { shellCommand } from '../process/shellCommand.ts'
import { exitCodeOf, LaunchFailed, type Child, type Exit, type ProcessTrees } from '../process/spawn.ts'
import { createTextTail, type TextTail } from '../process/textTail.ts'
import type { Database } from '../store/engine/database.ts'
import { writeWithRetry } from '../store/engine/retry.ts'
import { setRunOutput, setRunPid, type OpenRun, type RunEnd } from '../store/automation/scripts.ts'

const maxOutputBytes = 64 * 1024
const saveEveryMs = 5000
const termMs = 3000
/** Background processes of a finished script get less time. */
const leftoverTermMs = 1000
const lastWordsMs = 1000
const retryMs = 1000

/** The dependencies of a run. `url` is the address of this server for its command; `launchQueue` starts one process at a time. */
export interface RunDependencies {
  db: Database
  processTrees: ProcessTrees
  url: string
  log: Log
  launchQueue: SerialQueue
}

/** A run whose processes are on this machine. */
export interface LiveRun {
  readonly scriptId: number
  readonly output: TextTail['read']
  /** Resolves when all its processes have exited and its row records the end. Never rejects. */
  readonly over: Promise<void>
  /** Ends it as cancelled for this reason; the first reason counts. Takes at most 6 s. */
  stop(reason: string): void
}

interface State {
  tail: TextTail
  reason: string | null
  child?: Child
}
type Ending = Pick<RunEnd, 'status' | 'exitCode' | 'error'>

/** Runs a script whose row is open. */
export function startRun(dependencies: RunDependencies, run: OpenRun): LiveRun {
  const state: State = { tail: createTextTail(maxOutputBytes), reason: run.error }
  const over = runToEnd(dependencies, run, state)
  return {
    scriptId: run.scriptId,
    over,
    output: state.tail.read,
    stop: reason => {
      state.reason ??= reason
      if (state.child) void end(dependencies, run, state.child)
    },
  }
}

async function runToEnd(dependencies: RunDependencies, run: OpenRun, state: State): Promise<void> {
  const ending = await runScript(dependencies, run, state).catch((error: unknown): Ending => {
    logFailure(dependencies.log, 'A script could not be run.', error, { scriptId: run.scriptId })
    return { status: 'failed', exitCode: null, error: 'The server could not run it; see its log.' }
  })
  // Retried, because a run whose row stays open would be started again.
  const save = () =>
    writeWithRetry(
      dependencies.db,
      tx => finish(tx, run.scriptId, { ...ending, ...state.tail.read() }),
      code => dependencies.log('warn', 'The result of a script could not be saved yet; retrying.', { code }),
    )
  const delayMs = (error: unknown) => {
    if (isShuttingDown(error)) return undefined
    logFailure(dependencies.log, 'The result of a script could not be saved.', error, { scriptId: run.scriptId })
    return retryMs
  }
  await retry(save, { delayMs }).catch(() => {
    /* The next start of the server marks it as interrupted. */
  })
}

const isShuttingDown = (error: unknown) => error instanceof Problem && error.code === 'SHUTTING_DOWN'

async function runScript(dependencies: RunDependencies, run: OpenRun, state: State): Promise<Ending> {
  const child = await dependencies
    .launchQueue(async () => (state.reason === null ? launch(dependencies, run) : undefined))
    .catch((error: unknown) => {
      if (error instanceof LaunchFailed) return error
      throw error
    })
  if (!child) return cancelledEnding(state.reason!)
  if (child instanceof LaunchFailed)
    return {
      status: 'failed',
      exitCode: null,
      error: child.reason === 'folder' ? "The project's folder is not there any more." : child.message,
    }
  state.child = child
  const told = Promise.all([child.stdout, child.stderr].map(stream => readPaced(stream, state.tail.add)))
  // Cancelled during its start.
  if (state.reason !== null) void end(dependencies, run, child)
  const stopSaving = keepOutput(dependencies, run, state, child.pid)
  const exit = await child.exited
  const { reason } = state
  const isGone = await end(dependencies, run, child, leftoverTermMs)
  await Promise.race([told, delay(lastWordsMs, undefined, { ref: false })])
  for (const stream of [child.stdout, child.stderr]) stream.destroy()
  await stopSaving()
  if (!isGone) dependencies.log('error', 'A process of a script could not be ended.', { scriptId: run.scriptId })
  return reason === null ? endingOf(exit) : { ...cancelledEnding(reason), exitCode: exitCodeOf(exit) }
}

const launch = ({ processTrees, url }: RunDependencies, { projectId, command, path }: OpenRun): Promise<Child> =>
  processTrees.spawn({
    command: shellCommand(command),
    cwd: path,
    env: commandEnvironment({ url, projectId }),
    stdin: 'ignore',
    kind: 'script',
  })

/** Also ends a script's remaining background processes. */
const end = (dependencies: RunDependencies, run: OpenRun, child: Child, withinMs = termMs): Promise<boolean> =>
  child.stop({ termMs: withinMs }).catch((error: unknown) => {
    dependencies.log('error', 'Processes of a script could not be ended.', {
      scriptId: run.scriptId,
      cause: String(error),
    })
    return false
  })

/** Stores the pid at once and the output periodically. A failed write is retried later, or at the end. */
function keepOutput({ db }: RunDependencies, { scriptId }: OpenRun, { tail }: State, pid: number): () => Promise<void> {
  let kept = 0
  let saving: Promise<unknown> = db
    .transaction(tx => setRunPid(tx, scriptId, pid))
    .catch(() => {
      /* The output is served from memory while it runs. */
    })
  const timer = setInterval(() => {
    const now = tail.read()
    const told = now.outputStart + now.output.length
    if (told === kept) return
    saving = db
      .transaction(tx => setRunOutput(tx, scriptId, now))
      .then(
        () => {
          kept = told
        },
        () => {
          /* Retried the next time. */
        },
      )
  }, saveEveryMs)
  return async () => {
    clearInterval(timer)
    await saving
  }
}

const cancelledEnding = (error: string): Ending => ({ status: 'cancelled', exitCode: null, error })

function endingOf(exit: Exit): Ending {
  const exitCode = exitCodeOf(exit)
  return {
    status: exitCode === 0 ? 'succeeded' : 'failed',
    exitCode,
    error: exit.signal ? `It was ended by ${exit.signal}.` : null,
  }
}
