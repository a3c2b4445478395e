import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { createSerialQueue } from '../async/serialQueue.ts'
import type { Database } from '../store/engine/database.ts'
import { retryWhileBusy } from '../store/engine/retry.ts'
import { deleteProcessRun, insertProcessRun, setProcessRunPid } from '../store/agents/processRuns.ts'
import { coverInherited, passDescriptors, type Covered } from './inheritedDescriptors.ts'
import { createStop, type StopOptions } from './stop.ts'
import { createMemberSearch, isGone, isKeeper, type FindMembers, type Tree } from './sweep.ts'
import { bootId, listProcesses, marker, startOf, type ProcessEntry } from './table.ts'
import type { Watchdog } from './watchdog.ts'

export interface SpawnOptions {
  /** The program and its arguments, without a shell. */
  command: readonly string[]
  cwd: string
  /** The whole environment, including PATH and HOME: nothing is inherited. BOARD_RUN_ID is added. */
  env: Readonly<Record<string, string>>
  stdin: 'pipe' | 'ignore'
  /** The recorded kind of run: agent, terminal, monitor, script, preview, cleanup, fetch. */
  kind: string
  /**
   * Whether the program runs its processes in a process namespace, as bubblewrap does. The program and its first child, which
   * reaps, receive no TERM, because their end would end all processes. A signal that ended the command is reported as an exit
   * code of 128 plus its number.
   */
  hasNamespace?: boolean
  /** Descriptors of this process that the program inherits under their numbers. */
  descriptors?: readonly number[]
  runId?: string
  /**
   * Called with the process right after its start. If set, a channel is open to the program's descriptor 3
   * (`NODE_CHANNEL_FD`), over which the program can send sockets. The callee must close the channel.
   */
  withChannel?(child: ChildProcess): void
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface ProcessUsage {
  processes: number
  memoryBytes: number
  /** The CPU time of the processes. It decreases when a process ends that no other process waits for. */
  cpuMs: number
}

/**
 * A started process tree. Its starter must call `stop`, even after the first process has exited, because descendants can still be
 * running.
 */
export interface Child<Stdin extends Writable | null = Writable | null> {
  runId: string
  pid: number
  /** Ignores writes after the end. */
  stdin: Stdin
  /** Not read until the caller reads. In the meantime, backpressure blocks the process. */
  stdout: Readable
  stderr: Readable
  /** The end of the first process. Never rejects. */
  exited: Promise<Exit>
  /** The description that identifies processes of the tree. */
  tree: Tree
  /** The total usage of its current processes, without those that only keep a namespace. */
  usage(): Promise<ProcessUsage>
  /** Deletes the run's record. */
  forget(): Promise<void>
  /**
   * Ends the tree: closes stdin, waits, sends TERM, waits, then KILL until none of its processes is left, in any group or
   * session. Concurrent and later calls share one stop. Takes at most graceMs + termMs + 2 s. Resolves to whether all have
   * exited. A process that is stuck in the kernel stays recorded for the next start.
   */
  stop(options?: StopOptions): Promise<boolean>
}

/**
 * A program could not be started. `reason`: the program is missing or not executable, or its folder is missing. The
 * message contains no argument.
 */
export class LaunchFailed extends Error {
  readonly reason: 'missing' | 'forbidden' | 'folder' | 'failed'
  constructor(reason: LaunchFailed['reason'], message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'LaunchFailed'
    this.reason = reason
  }
}

/** Starts the process trees of one board. */
export interface ProcessTrees {
  /**
   * Starts a program in its own session and process group, marked so that all its descendants can be found. The run is recorded,
   * and the watchdog updated, from before the start until the whole tree has exited.
   * @throws LaunchFailed; Problem DATABASE_BUSY, DISK_FULL, SHUTTING_DOWN
   */
  spawn(options: SpawnOptions & { stdin: 'pipe' }): Promise<Child<Writable>>
  spawn(options: SpawnOptions): Promise<Child>
}

/**
 * @param db stores the records of runs
 * @param watchdog ends them if this process dies
 */
export function createProcessTrees(db: Database, watchdog?: Watchdog): ProcessTrees {
  const findMembers = createMemberSearch()
  // Starting a process blocks the event loop for some milliseconds, so each start gets a turn of the loop to itself.
  const turns = createSerialQueue()
  const nextTurn = () => turns(() => new Promise<void>(setImmediate))
  let covered: Promise<Covered> | undefined
  const cover = () => (covered ??= coverInherited())
  return {
    spawn: ((options: SpawnOptions) =>
      spawnTree(options, { db, watchdog, findMembers, nextTurn, cover })) as ProcessTrees['spawn'],
  }
}

interface TreeDependencies {
  db: Database
  watchdog: Watchdog | undefined
  findMembers: FindMembers
  nextTurn(): Promise<void>
  cover(): Promise<Covered>
}

async function spawnTree(
  options: SpawnOptions,
  { db, watchdog, findMembers, nextTurn, cover }: TreeDependencies,
): Promise<Child> {
  const runId = options.runId ?? randomUUID()
  await retryWhileBusy(() => db.transaction(tx => insertProcessRun(tx, { runId, kind: options.kind, bootId })))
  // A leftover record is harmless: the next start of the server finds nothing to end and deletes it.
  let forgotten: Promise<void> | undefined
  const forget = () => {
    watchdog?.unwatch(tree)
    return (forgotten ??= db.transaction(tx => deleteProcessRun(tx, runId)).catch(() => {}))
  }
  const { hasNamespace } = options
  const tree: Tree = {
    runId,
    leader: undefined,
    since: undefined,
    seen: new Map(),
    ...(hasNamespace && { hasNamespace }),
  }
  watchdog?.watch(tree)
  try {
    const started = await launch(options, runId, await cover(), nextTurn)
    const pid = started.pid!
    noteLeader(tree, pid)
    watchdog?.update()
    const running = {
      runId,
      pid,
      stdin: started.stdin,
      stdout: started.stdout!,
      stderr: started.stderr!,
      exited: exitOf(started, hasNamespace === true),
      usage: async () => usageOf(tree, (await findMembers([tree]))[0]!),
      tree,
      forget,
    }
    void noteProcess(db, running.tree, pid)
    void forgetAtEnd(findMembers, running).then(isGone => isGone || watchdog?.update())
    return { ...running, stop: createStop(findMembers, running) }
  } catch (error) {
    await forget()
    throw error
  }
}

async function launch(
  { command, cwd, env, stdin, withChannel, descriptors = [] }: SpawnOptions,
  runId: string,
  covered: Covered,
  nextTurn: () => Promise<void>,
): Promise<ChildProcess> {
  const [program, ...args] = command
  if (program === undefined || program === '') throw new LaunchFailed('missing', 'No program is given.')
  await nextTurn()
  try {
    // Not execa, which ends one process instead of a tree, and buffers output that is read here with backpressure.
    const started = spawn(program, args, {
      cwd,
      env: { ...env, [marker]: runId },
      stdio: passDescriptors(
        [stdin, 'pipe', 'pipe', ...(withChannel ? ['ipc' as const, ...covered.slice(1)] : covered)],
        descriptors,
      ),
      detached: true,
      windowsHide: true,
    })
    started.on('error', () => {})
    // `stdio` is undefined if no file descriptor is free, despite its type.
    for (const stream of (started.stdio as typeof started.stdio | undefined) ?? []) stream?.on('error', () => {})
    if (started.pid === undefined) await once(started, 'spawn')
    withChannel?.(started)
    return started
  } catch (error) {
    throw await toLaunchFailed(error, program, cwd)
  }
}

async function toLaunchFailed(cause: unknown, program: string, cwd: string): Promise<LaunchFailed> {
  const { code } = cause as NodeJS.ErrnoException
  const folder = await stat(cwd).catch(() => undefined)
  if (!folder?.isDirectory()) return new LaunchFailed('folder', 'The folder to work in does not exist.', cause)
  if (code === 'ENOENT') return new LaunchFailed('missing', `${program} was not found.`, cause)
  if (code === 'EACCES') return new LaunchFailed('forbidden', `${program} is not executable.`, cause)
  return new LaunchFailed('failed', `${program} could not be started${code === undefined ? '' : ` (${code})`}.`, cause)
}

function noteLeader(tree: Tree, pid: number): void {
  tree.leader = pid
  tree.since = startOf(pid)
  if (tree.since !== undefined) tree.seen.set(pid, tree.since)
}

/** Deletes the record of a run whose first process exited without leaving others. @returns whether it was deleted */
async function forgetAtEnd(
  findMembers: FindMembers,
  { exited, tree, forget }: Pick<Child, 'exited' | 'tree' | 'forget'>,
): Promise<boolean> {
  await exited
  if (!(await isGone(findMembers, tree))) return false
  await forget()
  return true
}

/** Records a run's first process. On Linux, the marker finds the tree without this record, so a failure is harmless. */
async function noteProcess(db: Database, { runId, since }: Tree, pid: number): Promise<void> {
  const startedAt = since ?? (await listProcesses()).find(entry => entry.pid === pid)?.startedAt ?? null
  await db.transaction(tx => setProcessRunPid(tx, runId, pid, startedAt)).catch(() => {})
}

const exitOf = (started: ChildProcess, hasNamespace: boolean): Promise<Exit> =>
  new Promise(resolve => {
    started.once('exit', (code, signal) =>
      resolve((hasNamespace && code !== null ? signalOf(code) : undefined) ?? { code, signal }),
    )
  })

/** The signal of an exit code above 128. */
function signalOf(code: number): Exit | undefined {
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0]
  return signal === undefined ? undefined : { code: null, signal: signal as NodeJS.Signals }
}

/** The exit code that a shell reports, including for a program that was ended by a signal. */
export const exitCodeOf = ({ code, signal }: Exit): number => code ?? 128 + (signal ? constants.signals[signal] : 0)

function usageOf(tree: Tree, members: readonly ProcessEntry[]): ProcessUsage {
  const counted = members.filter(member => !isKeeper(tree, member))
  return {
    processes: counted.length,
    memoryBytes: counted.reduce((sum, { memoryBytes = 0 }) => sum + memoryBytes, 0),
    cpuMs: counted.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  }
}
