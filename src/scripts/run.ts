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
/** The time for background processes of a finished script to exit. */
const leftoverTermMs = 1000
/** The time to read the last output of ended processes. */
const drainMs = 1000
const retryMs = 1000

/** The dependencies of a run. `url` is the address of this server for its command. `launchQueue` starts one process at a time. */
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
  /** Cancels the run. A later reason is ignored. Takes at most 6 s. */
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
      if (state.child) void endProcesses(dependencies, run, state.child)
    },
  }
}

async function runToEnd(dependencies: RunDependencies, run: OpenRun, state: State): Promise<void> {
  const ending = await runProcess(dependencies, run, state).catch((error: unknown): Ending => {
    logFailure(dependencies.log, 'A script could not be run.', error, { scriptId: run.scriptId })
    return {
      status: 'failed',
      exitCode: null,
      error: "The server could not run the command. The server's log has the details.",
    }
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

async function runProcess(dependencies: RunDependencies, run: OpenRun, state: State): Promise<Ending> {
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
      error: child.reason === 'folder' ? "The project's folder no longer exists." : child.message,
    }
  state.child = child
  const outputEnd = Promise.all([child.stdout, child.stderr].map(stream => readPaced(stream, state.tail.add)))
  // The run might have been cancelled while the process started.
  if (state.reason !== null) void endProcesses(dependencies, run, child)
  const stopSaving = keepOutput(dependencies, run, state, child.pid)
  const exit = await child.exited
  const { reason } = state
  const isGone = await endProcesses(dependencies, run, child, leftoverTermMs)
  await Promise.race([outputEnd, delay(drainMs, undefined, { ref: false })])
  for (const stream of [child.stdout, child.stderr]) stream.destroy()
  await stopSaving()
  if (!isGone) dependencies.log('error', 'A process of a script could not be stopped.', { scriptId: run.scriptId })
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

/** Ends the processes of a script, including background processes. Returns false if one of them could not be stopped. */
const endProcesses = (dependencies: RunDependencies, run: OpenRun, child: Child, withinMs = termMs): Promise<boolean> =>
  child.stop({ termMs: withinMs }).catch((error: unknown) => {
    dependencies.log('error', 'Processes of a script could not be stopped.', {
      scriptId: run.scriptId,
      cause: String(error),
    })
    return false
  })

/** Stores the process ID at once, and the output periodically. @returns the function that ends this */
function keepOutput({ db }: RunDependencies, { scriptId }: OpenRun, { tail }: State, pid: number): () => Promise<void> {
  let savedOffset = 0
  let saving: Promise<unknown> = db
    .transaction(tx => setRunPid(tx, scriptId, pid))
    .catch(() => {
      /* The output is served from memory while the script runs. */
    })
  const timer = setInterval(() => {
    const now = tail.read()
    const endOffset = now.outputStart + now.output.length
    if (endOffset === savedOffset) return
    saving = db
      .transaction(tx => setRunOutput(tx, scriptId, now))
      .then(
        () => {
          savedOffset = endOffset
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
