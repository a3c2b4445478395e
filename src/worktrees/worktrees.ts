import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { readAccountSettings } from '../git/accountSettings.ts'
import { GitFailed } from '../git/git.ts'
import { LaunchFailed } from '../process/spawn.ts'
import { searchPath } from '../process/environment.ts'
import { coverInherited, type Covered } from '../process/inheritedDescriptors.ts'
import { readDefaultLimits } from '../sandbox/cgroup.ts'
import type { Mount } from '../sandbox/mount.ts'
import type { SandboxPolicy } from '../sandbox/policy.ts'
import { programMounts } from '../sandbox/programMounts.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import {
  operations,
  type Operation,
  type OperationInput,
  type OperationName,
  type OperationResult,
} from './operations.ts'
import type { Send } from './send.ts'
import { worktreeMounts, type WorktreePlace } from './worktreeMounts.ts'
import {
  loadWorktreeProgram,
  programFd,
  programPath,
  startWorktreeProcess,
  type WorktreeProcess,
} from './worktreeProcess.ts'

/** A file of a project's folder, or why it cannot be used. */
export type ProjectFile = { content: Buffer; problem: null } | { content: null; problem: string }

/** Cached files of projects' folders. A file is read again if it has changed. */
export type KeptFiles = Map<string, { stamp: string; file: ProjectFile }>

/**
 * The operations on files of worktrees and of projects' folders, which agents can change at any time. With bubblewrap, they run
 * in a process that sees only that folder and its repository, so that no name in the folder can lead anywhere else. Elsewhere,
 * the server runs the same code itself, because agents have the permissions of its account there.
 */
export interface Worktrees {
  /**
   * Runs an operation on a worktree.
   * @param send receives the bytes that the operation sends
   * @throws what the operation throws; GitFailed if its process ends, or if a file is replaced during the operation
   */
  run<Name extends OperationName>(name: Name, input: OperationInput<Name>, send?: Send): Promise<OperationResult<Name>>
  /**
   * Runs an operation on a folder that no agent could write to yet, without a process: starting one takes 100 ms, and agents wait
   * for this.
   */
  prepare<Name extends OperationName>(
    name: Name,
    input: OperationInput<Name>,
    send?: Send,
  ): Promise<OperationResult<Name>>
  /** Files of projects' folders, kept by `readProjectFile`. */
  readonly keptFiles: KeptFiles
  /** The number of agents' open views of Git, by the Git folder of the working tree. */
  readonly openViews: Map<string, number>
  /** Ends the processes, and removes their temporary files. */
  close(): Promise<void>
}

/** Idle processes are kept, because starting a process takes time. */
const keptIdleMs = 60_000
const maxProcesses = 6
/** The folder for temporary files in the sandbox. It is on the disk, because `/tmp` there is in memory. */
const scratchFolder = '/tmp/board'
const minMemoryMiB = 1024

/**
 * The memory that one process can use. It is limited, because an agent can leave files and objects that Git expands to any size. Up to four
 * processes together use at most half of the memory that the server can use.
 */
const readMemoryLimit = (): number => Math.max(minMemoryMiB, Math.floor(readDefaultLimits().memoryMiB / 4))

/** @param memoryMiB the memory that each process in the sandbox can use */
export function createWorktrees(sandbox: Sandbox, memoryMiB = readMemoryLimit()): Worktrees {
  const processes = createPool(sandbox, memoryMiB)
  const run = async (
    name: OperationName,
    input: OperationInput<OperationName>,
    send: Send = ignore,
  ): Promise<unknown> => {
    const sandboxed = await processes.find(input.worktree)
    const account = sandboxed && (await readAccountSettings(input.worktree))
    const result = account ? sandboxed.call(name, input, account, send) : prepare(name, input, send)
    return result.catch(error => {
      throw isSwapped(error) ? new GitFailed('failed', swapped, error) : error
    })
  }
  return {
    run: run as Worktrees['run'],
    prepare: prepare as Worktrees['prepare'],
    keptFiles: new Map(),
    openViews: new Map(),
    close: processes.close,
  }
}

const swapped = 'A program changed the files of the folder at the same time. Try again.'
/** Whether a name stopped referring to the file or folder that an operation had found there. */
const isSwapped = ({ code, syscall }: NodeJS.ErrnoException): boolean =>
  syscall !== undefined && ['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENOTEMPTY', 'EEXIST'].includes(code ?? '')

const prepare = async (
  name: OperationName,
  input: OperationInput<OperationName>,
  send: Send = ignore,
): Promise<unknown> => (operations[name] as Operation<OperationName>)(input, send)

const ignore: Send = async () => {}

/** The parts that all processes share. */
interface ProcessBase {
  program: Buffer
  covered: Covered
  home: string
}

async function loadBase(): Promise<ProcessBase> {
  const home = await realpath(homedir()).catch(() => homedir())
  const [program, covered] = await Promise.all([loadWorktreeProgram(), coverInherited()])
  return { program, covered, home }
}

/** The processes by their mounts. The least recently used one ends first. */
function createPool(sandbox: Sandbox, memoryMiB: number) {
  const kept = new Map<string, WorktreeProcess>()
  const timers = new Map<string, NodeJS.Timeout>()
  const removals = new Set<Promise<void>>()
  const base = loadBase()
  base.catch(() => {
    /* The first operation reports the error. */
  })
  const end = (key: string) => {
    clearTimeout(timers.get(key))
    timers.delete(key)
    kept.get(key)?.kill()
    kept.delete(key)
  }
  const touch = (key: string, used: WorktreeProcess) => {
    kept.delete(key)
    kept.set(key, used)
    clearTimeout(timers.get(key))
    const endIdle = () => (used.running > 0 ? touch(key, used) : end(key))
    timers.set(key, setTimeout(endIdle, keptIdleMs).unref())
    for (const [other, { running }] of kept) if (kept.size > maxProcesses && running === 0 && other !== key) end(other)
  }
  return {
    /** The process for a worktree. Undefined without bubblewrap. */
    find: async (worktree: WorktreePlace): Promise<WorktreeProcess | undefined> => {
      if ((await sandbox.status()).kind !== 'bwrap') return undefined
      const { mounts, key: seen } = await worktreeMounts(worktree)
      const path = searchPath(process.env.PATH ?? '')
      const key = `${path}\0${seen}`
      if (kept.get(key)?.isOver ?? true) {
        const { scratch, started } = await start(sandbox, memoryMiB, await base, path, mounts)
        const removed = started.ended.then(async () => {
          if (kept.get(key) === started) end(key)
          await rm(scratch, { recursive: true, force: true })
          removals.delete(removed)
        })
        removals.add(removed)
        // Another call can have started one in the meantime.
        if (kept.get(key)?.isOver === false) started.kill()
        else kept.set(key, started)
      }
      const found = kept.get(key)!
      touch(key, found)
      return found
    },
    close: async () => {
      for (const key of kept.keys()) end(key)
      await Promise.all(removals)
    },
  }
}

/** Starts a process that sees the mounts, and a folder for temporary files. */
async function start(
  sandbox: Sandbox,
  memoryMiB: number,
  { program, covered, home }: ProcessBase,
  path: string,
  mounts: readonly Mount[],
): Promise<{ scratch: string; started: WorktreeProcess }> {
  const env = { PATH: path, HOME: '/tmp', TMPDIR: scratchFolder }
  const [scratch, programs] = await Promise.all([
    mkdtemp(join(tmpdir(), 'board-worktree-')),
    programMounts([process.execPath], env, home),
  ])
  const policy: SandboxPolicy = {
    home,
    network: 'none',
    limits: { memoryMiB, processes: null, fileMiB: null, minutes: null },
    mounts: [...programs, ...mounts, { kind: 'rw', source: scratch, target: scratchFolder }],
    data: [{ fd: programFd, target: programPath }],
  }
  try {
    const opened = await sandbox.open(policy)
    try {
      const { command, descriptors } = await opened.command('/', [process.execPath, programPath])
      return { scratch, started: startWorktreeProcess(command, program, { env, covered, descriptors }) }
    } finally {
      await opened.close()
    }
  } catch (error) {
    await rm(scratch, { recursive: true, force: true })
    throw error instanceof LaunchFailed ? new GitFailed('failed', error.message, error) : error
  }
}
