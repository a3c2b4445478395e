import { readdirSync, readFile } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { readKernel, readStat } from '../system/kernel.ts'

/**
 * A process of this machine, identified by pid and `startedAt`: clock ticks since the boot on Linux, a date elsewhere.
 */
export interface ProcessEntry {
  pid: number
  parentPid: number
  groupId: number
  sessionId: number
  startedAt: string
  /** Its memory in bytes, if the system reports it (Linux). */
  memoryBytes?: number
  /** The CPU time of the process. On Linux, includes the children that it has waited for. */
  cpuMs: number
}

/** The marker: an environment variable that every started process and its descendants have. */
export const marker = 'BOARD_RUN_ID'

const isLinux = process.platform === 'linux'
/** The unit of the kernel's memory counts, except on some ARM machines. */
const pageBytes = 4096
/** The unit of the kernel's CPU times. */
const tickMs = 10
const maxConcurrent = 200
const readTimeoutMs = 1000
const maxAttempts = 4
const attemptPauseMs = 2
/** PF_KTHREAD among the flags of `/proc/PID/stat`. */
const kernelThreadFlag = 0x0020_0000

/** The ID of this boot. Null if the system has none. */
export const bootId: string | null = isLinux ? (readKernel('/proc/sys/kernel/random/boot_id')?.trim() ?? null) : null

/** Every process except zombies and kernel threads. */
export const listProcesses = (): Promise<ProcessEntry[]> => (isLinux ? listProc() : listPs())

async function listProc(): Promise<ProcessEntry[]> {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  const entries: ProcessEntry[] = []
  for (const [index, pid] of pids.entries()) {
    if (index % maxConcurrent === maxConcurrent - 1) await new Promise(setImmediate)
    const entry = entryOf(Number(pid))
    if (entry) entries.push(entry)
  }
  return entries
}

/** One process by its pid, on Linux only. */
function entryOf(pid: number): ProcessEntry | undefined {
  const stat = readStat(pid)
  if (stat === undefined) return undefined
  const [state, parentPid, groupId, sessionId, ...rest] = stat
  return state === 'Z' || state === 'X' || (Number(rest[2]) & kernelThreadFlag) !== 0
    ? undefined
    : {
        pid,
        parentPid: Number(parentPid),
        groupId: Number(groupId),
        sessionId: Number(sessionId),
        startedAt: rest[15]!,
        memoryBytes: Number(rest[17]) * pageBytes,
        cpuMs: (Number(rest[7]) + Number(rest[8]) + Number(rest[9]) + Number(rest[10])) * tickMs,
      }
}

async function listPs(): Promise<ProcessEntry[]> {
  const { execa } = await import('execa')
  const { exitCode, stdout } = await execa('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat=,time=,lstart='], {
    lines: true,
    maxBuffer: 64 * 1024 * 1024,
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    extendEnv: false,
    reject: false,
  })
  return exitCode === 0 ? stdout.flatMap(entryOfPs) : []
}

function entryOfPs(line: string): ProcessEntry[] {
  const [pid, parentPid, groupId, state, time, ...startedAt] = line.trim().split(/\s+/)
  if (!pid || state!.startsWith('Z')) return []
  const group = Number(groupId)
  return [
    {
      pid: Number(pid),
      parentPid: Number(parentPid),
      groupId: group,
      sessionId: group,
      startedAt: startedAt.join(' '),
      cpuMs: msOfPs(time!),
    },
  ]
}

/** A CPU time in the format of ps: [[days-]hours:]minutes:seconds[.hundredths]. */
function msOfPs(time: string): number {
  const [days, clock] = time.includes('-') ? time.split('-') : ['0', time]
  const secs = clock!.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return (Number(days) * 86_400 + secs) * 1000
}

/** The start of a process. Undefined if it has exited or this is not Linux. */
export const startOf = (pid: number): string | undefined => (isLinux ? entryOf(pid)?.startedAt : undefined)

/** A process whose marker cannot be read yet: it is starting, or busy with its memory. */
export const unreadable = Symbol('unreadable')

/**
 * Returns the marker of a process. Returns undefined if it has none, has ended, or belongs to another account. During exec, a
 * process has neither an environment nor arguments, for as long as it gets no CPU time.
 */
export async function readRunId(pid: number): Promise<string | undefined | typeof unreadable> {
  if (!isLinux) return undefined
  let environ = await readProcessFile(pid, 'environ')
  let isStarting = false
  // An environment is also empty if it is opened before an exec and read after it. If it stays empty, the process has no environment.
  for (let attempt = 1; environ === '' && attempt <= maxAttempts; attempt++) {
    if (attempt > 1) await delay(attemptPauseMs)
    isStarting ||= (await readProcessFile(pid, 'cmdline')) === ''
    environ = await readProcessFile(pid, 'environ')
  }
  if (environ === '') return isStarting && entryOf(pid) !== undefined ? unreadable : undefined
  return environ
    ?.split('\0')
    .find(variable => variable.startsWith(`${marker}=`))
    ?.slice(marker.length + 1)
}

/**
 * Returns a file of a process. Undefined if it cannot be read. The read can block on the memory operations of the process: after
 * a second, the file counts as empty.
 */
const readProcessFile = (pid: number, name: 'environ' | 'cmdline') =>
  new Promise<string | undefined>(resolve => {
    const late = setTimeout(resolve, readTimeoutMs, '')
    readFile(`/proc/${pid}/${name}`, 'latin1', (error, content) => {
      clearTimeout(late)
      resolve(error ? undefined : content)
    })
  })

/** Sends a signal to a process or a whole group, unless its pid was reused. */
export function sendSignal(signal: NodeJS.Signals, { pid, startedAt }: ProcessEntry, toGroup = false): void {
  if (isLinux && startOf(pid) !== startedAt) return
  try {
    process.kill(toGroup ? -pid : pid, signal)
  } catch {
    /* The process has exited, or belongs to another account. */
  }
}
