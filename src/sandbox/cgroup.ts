import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { access, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { processMark, readKernel } from '../system/kernel.ts'
import type { BoundsStatus, SandboxLimits } from '../contract/sandbox.ts'
import { LaunchFailed } from '../process/spawn.ts'

type Limits = Pick<SandboxLimits, 'memoryMb' | 'processes'>

/** The control group of one session, in which the kernel bounds all that the session starts. */
export interface SessionCgroup {
  /** The command that starts another one inside. The first one makes the group. @throws LaunchFailed */
  enter(argv: readonly string[]): Promise<string[]>
  /** The limits that the kernel enforces: those of the project, and the defaults for those that it does not set. */
  limits: DefaultLimits
  /** The bound that the kernel has held; undefined for none. */
  reached(): 'memory_limit' | 'process_limit' | undefined
  /** Ends what is left inside, and removes the group. */
  close(): Promise<void>
}

/** What the server found about its own control group. */
export interface OwnCgroup {
  status: BoundsStatus
  /** A group for one session; null where the server has none to divide. */
  openSession: ((limits: Limits) => SessionCgroup) | null
}

const mebibyte = 1024 * 1024
interface DefaultLimits {
  memoryMb: number
  processes: number
}
const minMemoryMb = 1024
/** Each thread counts. A build or a browser has some hundreds. */
const defaultProcesses = 2048

/** The limits of a session whose project sets none: half of the memory that the server can use, and a number of processes. */
export function readDefaultLimits(): DefaultLimits {
  const available = Math.min(totalmem(), process.constrainedMemory() || Infinity)
  return { memoryMb: Math.max(minMemoryMb, Math.floor(available / 2 / mebibyte)), processes: defaultProcesses }
}

const systemdTimeoutMs = 5000
const removal = { firstPauseMs: 5, lastPauseMs: 100, giveUpMs: 2000 }
const wanted = ['memory', 'pids'] as const
/** The group of the server's own processes: a group whose controllers are handed down may hold none itself. */
const serverLeaf = 'server'
const sessionPrefix = 'board-session'
/** bubblewrap keeps two processes for each command, and a session has at most two commands at a time. */
const keepers = 4
/** A process that forks between the reading and the move leaves its child behind. */
const maxMoves = 20

/**
 * Divides the server's own control group, where it was delegated to it: the server's processes move into a part of their own, once, and
 * each session gets another. What a dead server left there is removed.
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
  'Run the server as a service: board server install, then board server restart. In a unit of your own: Delegate=memory pids.'

/** The folder of the group that the server may divide. @throws NotDelegated */
async function findBase(): Promise<string> {
  if (process.platform !== 'linux') throw new NotDelegated('Control groups are there on Linux only.')
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

/** Where version 2 is mounted with what this process sees of it. */
async function mountedAt(): Promise<string | undefined> {
  const mounts = await readFile('/proc/self/mountinfo', 'latin1').catch(() => '')
  return /^\S+ \S+ \S+ \/ (\S+) .* - cgroup2 /m.exec(mounts)?.[1]
}

const isVersionOne = (): boolean => /^\d+:[^:]*\b(memory|pids)\b/m.exec(readKernel('/proc/self/cgroup') ?? '') !== null

/** A user's manager of services owns all groups of the user, and root owns all: only systemd can tell which ones it leaves alone. */
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

/** Moves what the group holds into a part of its own, and hands the controllers down to its parts. */
async function divide(base: string): Promise<void> {
  const leaf = join(base, serverLeaf)
  await mkdir(leaf, { recursive: true })
  for (let moves = 1; ; moves++) {
    const held = (await readFile(join(base, 'cgroup.procs'), 'latin1')).split('\n').filter(Boolean)
    // One that has ended meanwhile cannot be moved, and need not be.
    for (const pid of held) await writeFile(join(leaf, 'cgroup.procs'), pid).catch(() => {})
    try {
      return await writeFile(join(base, 'cgroup.subtree_control'), wanted.map(each => `+${each}`).join(' '))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (moves === maxMoves) throw new NotDelegated(`The server's control group cannot be divided (${code}).`)
    }
  }
}

/** What servers that are gone have left; those that live may be several in one group. */
async function removeLeft(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    const [, pid, start] = new RegExp(`^${sessionPrefix}-(\\d+)-(\\d+)-`).exec(name) ?? []
    if (pid !== undefined && startOf(Number(pid)) !== start) await remove(join(base, name))
  }
}

/** When a process of this machine has started; undefined where it has ended. */
const startOf = (pid: number): string | undefined => processMark(pid)?.split('/')[1]

function openSession(base: string, { memoryMb, processes }: Limits): SessionCgroup {
  const defaults = readDefaultLimits()
  const limits = { memoryMb: memoryMb ?? defaults.memoryMb, processes: processes ?? defaults.processes }
  const folder = join(base, `${sessionPrefix}-${process.pid}-${startOf(process.pid)}-${randomUUID()}`)
  let ready: Promise<void> | undefined
  return {
    limits,
    enter: async argv => {
      await (ready ??= make(folder, limits))
      // Not the server writes who is in it: between its start and that, the command could have started others.
      return ['/bin/sh', '-c', 'echo 0 > "$1" && shift && exec "$@"', 'sh', join(folder, 'cgroup.procs'), ...argv]
    },
    reached: () => {
      const memory = countersOf(folder, 'memory.events')
      // The machine itself may lack memory, too: then something is killed, and this bound was not reached.
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

async function make(folder: string, { memoryMb, processes }: DefaultLimits): Promise<void> {
  const set = (name: string, value: number) => writeFile(join(folder, name), String(value))
  try {
    await mkdir(folder)
    await set('memory.max', memoryMb * mebibyte)
    // Not there without swap.
    await set('memory.swap.max', 0).catch(() => {})
    // An agent without some of its processes would go on for nothing.
    await set('memory.oom.group', 1)
    await set('pids.max', processes + keepers)
  } catch (error) {
    await remove(folder)
    const { code } = error as NodeJS.ErrnoException
    throw new LaunchFailed('failed', `The session's control group could not be made (${code}).`, error)
  }
}

const countersOf = (folder: string, name: string): Record<string, number> =>
  Object.fromEntries(
    (readKernel(join(folder, name)) ?? '').split('\n').map(line => [line.split(' ')[0]!, Number(line.split(' ')[1])]),
  )

/** A group goes once all that was in it has ended, which takes the kernel a moment. */
async function remove(folder: string): Promise<void> {
  // Not there before Linux 5.14.
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
