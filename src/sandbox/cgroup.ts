import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { access, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { processMark, readKernel } from '../system/kernel.ts'
import type { BoundsStatus, SandboxLimits } from '../contract/agents/sandbox.ts'
import { LaunchFailed } from '../process/spawn.ts'

type Limits = Pick<SandboxLimits, 'memoryMiB' | 'processes'>

/** The control group of one session, in which the kernel limits all processes of the session. */
export interface SessionCgroup {
  /** Returns the command that starts another one inside. The first call creates the group. @throws LaunchFailed */
  enter(argv: readonly string[]): Promise<string[]>
  /** The limits that the kernel enforces: those of the project, and defaults for the unset ones. */
  limits: DefaultLimits
  /** The limit that the kernel has enforced. Undefined if there was none. */
  reached(): 'memory_limit' | 'process_limit' | undefined
  /** Ends the remaining processes inside, and removes the group. */
  close(): Promise<void>
}

/** The server's own control group. */
export interface OwnCgroup {
  status: BoundsStatus
  /** Opens a group for one session. Null if the server has no group to divide. */
  openSession: ((limits: Limits) => SessionCgroup) | null
}

const mebibyte = 1024 * 1024
interface DefaultLimits {
  memoryMiB: number
  processes: number
}
const minMemoryMiB = 1024
/** Each thread counts. A build or a browser has some hundreds. */
const defaultProcesses = 2048

/** The limits of a session whose project sets none: half of the memory that the server can use, and a number of processes. */
export function readDefaultLimits(): DefaultLimits {
  const available = Math.min(totalmem(), process.constrainedMemory() || Infinity)
  return { memoryMiB: Math.max(minMemoryMiB, Math.floor(available / 2 / mebibyte)), processes: defaultProcesses }
}

const systemdTimeoutMs = 5000
const removal = { firstPauseMs: 5, lastPauseMs: 100, giveUpMs: 2000 }
const wanted = ['memory', 'pids'] as const
/** The group of the server's own processes. A group that delegates its controllers must not contain processes itself. */
const serverLeaf = 'server'
const sessionPrefix = 'board-session'
/** bubblewrap keeps two processes for each command, and a session has at most two commands at a time. */
const keepers = 4
/** If a process forks between the read and the move, its child is left behind. */
const maxMoves = 20

/**
 * Divides the server's own control group, if it was delegated: the server's processes move into a separate subgroup, once, and
 * each session gets another one. Leftovers of a dead server are removed.
 */
export async function divideOwnCgroup(): Promise<OwnCgroup> {
  try {
    const base = await findBase()
    await divide(base)
    await removeLeft(base)
    return {
      status: { kind: 'cgroup', reason: null, advice: null, defaults: readDefaultLimits() },
      openSession: limits => openSession(base, limits),
    }
  } catch (error) {
    const { message, advice = null } = error as Error & { advice?: string }
    return { status: { kind: 'watched', reason: message, advice, defaults: readDefaultLimits() }, openSession: null }
  }
}

class NotDelegated extends Error {
  readonly advice: string | undefined
  constructor(message: string, advice?: string) {
    super(message)
    this.advice = advice
  }
}

const howToDelegate =
  'Run the server as a service: board server install, then board server restart. In a custom unit, set Delegate=memory pids.'

/** The folder of the group that the server can divide. @throws NotDelegated */
async function findBase(): Promise<string> {
  if (process.platform !== 'linux') throw new NotDelegated('Control groups are available only on Linux.')
  const path = /^0::(\/.*)$/m.exec(readKernel('/proc/self/cgroup') ?? '')?.[1]
  const mounted = await mountedAt()
  if (path === undefined || mounted === undefined || path.startsWith('/..'))
    throw new NotDelegated('The server does not see its control group (version 2).')
  const [unitPath, unit] = /^.*\/([^/]+\.(?:service|scope))(?=\/|$)/.exec(path) ?? []
  const base = join(mounted, unitPath ?? path.replace(new RegExp(`/${serverLeaf}$`), '/'))
  const controllers = (readKernel(join(base, 'cgroup.controllers')) ?? '').trim().split(' ')
  if (!wanted.every(each => controllers.includes(each)))
    throw new NotDelegated(
      'The control group of the server has no controllers of memory and processes (version 2).',
      isVersionOne() ? 'Boot with systemd.unified_cgroup_hierarchy=1.' : howToDelegate,
    )
  const files = ['', 'cgroup.procs', 'cgroup.subtree_control'].map(name => join(base, name))
  const isOwn = await Promise.all(files.map(file => access(file, constants.W_OK))).then(
    () => true,
    () => false,
  )
  if (!isOwn || (unit !== undefined && !(await isDelegated(unit, unitPath!))))
    throw new NotDelegated(
      `The server's control group${unit ? ` (${unit})` : ''} is not delegated to it.`,
      howToDelegate,
    )
  return base
}

/** The mount point of control groups version 2, and the subtree that this process sees. */
async function mountedAt(): Promise<string | undefined> {
  const mounts = await readFile('/proc/self/mountinfo', 'latin1').catch(() => '')
  return /^\S+ \S+ \S+ \/ (\S+) .* - cgroup2 /m.exec(mounts)?.[1]
}

const isVersionOne = (): boolean => /^\d+:[^:]*\b(memory|pids)\b/m.exec(readKernel('/proc/self/cgroup') ?? '') !== null

/**
 * A user's service manager owns all groups of the user, and root owns all groups. Only systemd can report which ones it has
 * delegated.
 */
async function isDelegated(unit: string, path: string): Promise<boolean> {
  const isOfUser = /\/user@\d+\.service\/./.test(path)
  const runtime = process.env.XDG_RUNTIME_DIR || `/run/user/${process.getuid!()}`
  const { stdout } = await promisify(execFile)(
    'systemctl',
    [...(isOfUser ? ['--user'] : []), 'show', '--property=Delegate', '--value', '--', unit],
    { timeout: systemdTimeoutMs, env: { ...process.env, XDG_RUNTIME_DIR: runtime } },
  ).catch(() => ({ stdout: '' }))
  return stdout.trim() === 'yes'
}

/** Moves the processes of the group into a subgroup, and delegates the controllers to its subgroups. */
async function divide(base: string): Promise<void> {
  const leaf = join(base, serverLeaf)
  await mkdir(leaf, { recursive: true })
  for (let moves = 1; ; moves++) {
    const held = (await readFile(join(base, 'cgroup.procs'), 'latin1')).split('\n').filter(Boolean)
    // A process that has ended in the meantime cannot be moved, and does not need to be.
    for (const pid of held) await writeFile(join(leaf, 'cgroup.procs'), pid).catch(() => {})
    try {
      return await writeFile(join(base, 'cgroup.subtree_control'), wanted.map(each => `+${each}`).join(' '))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (moves === maxMoves) throw new NotDelegated(`The server's control group cannot be divided (${code}).`)
    }
  }
}

/** Removes the leftovers of stopped servers. Several running servers can share one group. */
async function removeLeft(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    const [, pid, start] = new RegExp(`^${sessionPrefix}-(\\d+)-(\\d+)-`).exec(name) ?? []
    if (pid !== undefined && startOf(Number(pid)) !== start) await remove(join(base, name))
  }
}

/** The start time of a process on this machine. Undefined if it has ended. */
const startOf = (pid: number): string | undefined => processMark(pid)?.split('/')[1]

function openSession(base: string, { memoryMiB, processes }: Limits): SessionCgroup {
  const defaults = readDefaultLimits()
  const limits = { memoryMiB: memoryMiB ?? defaults.memoryMiB, processes: processes ?? defaults.processes }
  const folder = join(base, `${sessionPrefix}-${process.pid}-${startOf(process.pid)}-${randomUUID()}`)
  let ready: Promise<void> | undefined
  return {
    limits,
    enter: async argv => {
      await (ready ??= make(folder, limits))
      // The command moves itself into the group. If the server did this after the start, the command could already have started
      // other processes.
      return ['/bin/sh', '-c', 'echo 0 > "$1" && shift && exec "$@"', 'sh', join(folder, 'cgroup.procs'), ...argv]
    },
    reached: () => {
      const memory = countersOf(folder, 'memory.events')
      // The machine itself can also run out of memory. In this case, a process is killed although this limit was not reached.
      if (memory.oom! > 0 && memory.oom_kill! > 0) return 'memory_limit'
      return countersOf(folder, 'pids.events').max! > 0 ? 'process_limit' : undefined
    },
    close: async () => {
      if (!ready) return
      await ready.catch(() => {})
      await remove(folder)
    },
  }
}

async function make(folder: string, { memoryMiB, processes }: DefaultLimits): Promise<void> {
  const set = (name: string, value: number) => writeFile(join(folder, name), String(value))
  try {
    await mkdir(folder)
    await set('memory.max', memoryMiB * mebibyte)
    // The file does not exist without swap.
    await set('memory.swap.max', 0).catch(() => {})
    // An agent without some of its processes would continue in vain.
    await set('memory.oom.group', 1)
    await set('pids.max', processes + keepers)
  } catch (error) {
    await remove(folder)
    const { code } = error as NodeJS.ErrnoException
    throw new LaunchFailed('failed', `The session's control group could not be created (${code}).`, error)
  }
}

const countersOf = (folder: string, name: string): Record<string, number> =>
  Object.fromEntries(
    (readKernel(join(folder, name)) ?? '').split('\n').map(line => [line.split(' ')[0]!, Number(line.split(' ')[1])]),
  )

/** A group can be removed once all its processes have ended, which takes the kernel a moment. */
async function remove(folder: string): Promise<void> {
  // The file does not exist before Linux 5.14.
  await writeFile(join(folder, 'cgroup.kill'), '1').catch(() => {})
  const giveUpAt = performance.now() + removal.giveUpMs
  for (let pauseMs = removal.firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, removal.lastPauseMs)) {
    const code = await rmdir(folder).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    )
    if (code !== 'EBUSY' || performance.now() > giveUpAt) return
    await delay(pauseMs)
  }
}
