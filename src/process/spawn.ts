import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import type { Database } from '../store/database.ts'
import { retryWhileBusy } from '../store/retry.ts'
import { deleteProcessRun, insertProcessRun, setProcessRunPid } from '../store/processRuns.ts'
import { isGone, type Tree } from './sweep.ts'
import { bootId, listProcesses, marker, startOf } from './table.ts'

export interface SpawnOptions {
  /** The program and its arguments. No shell is asked. */
  command: readonly string[]
  cwd: string
  /** The whole environment, PATH and HOME too: nothing is inherited. BOARD_RUN_ID is added. */
  env: Readonly<Record<string, string>>
  stdin: 'pipe' | 'ignore'
  /** What runs, for the record: agent, terminal, monitor, script. */
  kind: string
  runId?: string
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** A started process tree. Whoever starts one ends it with `stopTree`, also when its first process has exited by itself: tools of it may live on. */
export interface Child<Stdin extends Writable | null = Writable | null> {
  runId: string
  pid: number
  /** Takes what comes after the end without an error. */
  stdin: Stdin
  /** Nothing is read before the caller reads; a process whose output nobody reads waits. */
  stdout: Readable
  stderr: Readable
  /** The end of the first process. Never rejects. */
  exited: Promise<Exit>
  /** What the sweep goes by. */
  tree: Tree
  /** Takes the run off the record. */
  forget(): Promise<void>
}

/** A program could not be started. `reason` tells whether it is missing, may not be run, or its folder is missing. The message holds no argument. */
export class LaunchFailed extends Error {
  readonly reason: 'missing' | 'forbidden' | 'folder' | 'failed'
  constructor(reason: LaunchFailed['reason'], message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'LaunchFailed'
    this.reason = reason
  }
}

/**
 * Starts a program in a session and process group of its own, marked so that all that it starts is found again. The run is
 * on record before it starts, and until the whole tree is gone.
 * @throws LaunchFailed; Problem DATABASE_BUSY, DISK_FULL, SHUTTING_DOWN
 */
export async function spawnTree(options: SpawnOptions & { stdin: 'pipe' }, db: Database): Promise<Child<Writable>>
export async function spawnTree(options: SpawnOptions, db: Database): Promise<Child>
export async function spawnTree(options: SpawnOptions, db: Database): Promise<Child> {
  const runId = options.runId ?? randomUUID()
  await retryWhileBusy(() => db.transaction(tx => insertProcessRun(tx, { runId, kind: options.kind, bootId })))
  // A record that stays behind costs nothing: the next start of the server finds nothing to end and deletes it.
  let forgotten: Promise<void> | undefined
  const forget = () => (forgotten ??= db.transaction(tx => deleteProcessRun(tx, runId)).catch(() => {}))
  try {
    const started = await launch(options, runId)
    const pid = started.pid!
    const child = {
      runId,
      pid,
      stdin: started.stdin,
      stdout: started.stdout!,
      stderr: started.stderr!,
      exited: exitOf(started),
      tree: treeOf(runId, pid),
      forget,
    }
    void noteProcess(db, child.tree, pid)
    void forgetAtEnd(child)
    return child
  } catch (error) {
    await forget()
    throw error
  }
}

async function launch({ command, cwd, env, stdin }: SpawnOptions, runId: string): Promise<ChildProcess> {
  const [program, ...args] = command
  if (program === undefined || program === '') throw new LaunchFailed('missing', 'No program is given.')
  await nextTurn()
  try {
    // Not by execa: it ends one process where a whole tree is swept, and gathers output that is read here at the reader's pace.
    const started = spawn(program, args, {
      cwd,
      env: { ...env, [marker]: runId },
      stdio: [stdin, 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
    })
    started.on('error', () => {})
    // Without a descriptor to spare there are no streams, whatever the type says.
    for (const stream of (started.stdio as typeof started.stdio | undefined) ?? []) stream?.on('error', () => {})
    if (started.pid === undefined) await once(started, 'spawn')
    return started
  } catch (error) {
    throw await toLaunchFailed(error, program, cwd)
  }
}

/** Starting a process holds everything up for some milliseconds: of several that start at the same time, each has a turn of the event loop to itself. */
const nextTurn = (): Promise<unknown> => (turn = turn.then(() => new Promise(setImmediate)))
let turn: Promise<unknown> = Promise.resolve()

async function toLaunchFailed(cause: unknown, program: string, cwd: string): Promise<LaunchFailed> {
  const { code } = cause as NodeJS.ErrnoException
  const folder = await stat(cwd).catch(() => undefined)
  if (!folder?.isDirectory()) return new LaunchFailed('folder', 'The folder to work in does not exist.', cause)
  if (code === 'ENOENT') return new LaunchFailed('missing', `${program} was not found.`, cause)
  if (code === 'EACCES') return new LaunchFailed('forbidden', `${program} may not be run.`, cause)
  return new LaunchFailed('failed', `${program} could not be started${code === undefined ? '' : ` (${code})`}.`, cause)
}

function treeOf(runId: string, pid: number): Tree {
  const startedAt = startOf(pid)
  return { runId, leader: pid, since: startedAt, seen: new Map(startedAt === undefined ? [] : [[pid, startedAt]]) }
}

/** Takes a run off the record whose first process ended without leaving anything. */
async function forgetAtEnd({ exited, tree, forget }: Child): Promise<void> {
  await exited
  if (await isGone(tree)) await forget()
}

/** Keeps which process began the run. On Linux the marker leads to the tree without it, so a failure costs nothing there. */
async function noteProcess(db: Database, { runId, since }: Tree, pid: number): Promise<void> {
  const startedAt = since ?? (await listProcesses()).find(entry => entry.pid === pid)?.startedAt ?? null
  await db.transaction(tx => setProcessRunPid(tx, runId, pid, startedAt)).catch(() => {})
}

const exitOf = (started: ChildProcess): Promise<Exit> =>
  new Promise(resolve => {
    started.once('exit', (code, signal) => resolve({ code, signal }))
  })
