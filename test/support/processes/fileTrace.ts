import { execFileSync, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { eventually } from '../waiting/eventually.ts'

/** A system call with a path, by a process outside bubblewrap. */
export interface TracedCall {
  call: string
  path: string
}

/** The calls of a process and of its child processes. */
export interface FileTrace {
  /** Ends the trace. Returns the calls of processes outside bubblewrap that open, create, rename or remove a file. */
  end(): Promise<TracedCall[]>
}

const opening = ['open', 'openat', 'openat2', 'creat', 'truncate']
const creating = ['mkdir', 'mkdirat', 'mknod', 'mknodat', 'symlink', 'symlinkat', 'link', 'linkat']
const removing = ['rename', 'renameat', 'renameat2', 'unlink', 'unlinkat', 'rmdir']
const changing = ['chmod', 'fchmodat', 'chown', 'lchown', 'fchownat', 'utimensat']
const files = new Set([...opening, ...creating, ...removing, ...changing])
const others = ['execve', 'clone', 'clone3', 'fork', 'vfork', 'chdir', 'fchdir']
const options = ['-f', '-y', '-s', '4096', '-e', `trace=${[...files, ...others].map(call => `?${call}`).join(',')}`]

/** The reason why this machine cannot trace; empty if it can. */
export function whyNotTraced(): string {
  try {
    execFileSync('strace', [...options, '-o', '/dev/null', 'true'], { stdio: 'pipe' })
    return ''
  } catch (error) {
    return `strace cannot be used here: ${String((error as Error).message).split('\n')[0]}`
  }
}

/** Traces a running process, and its child processes. `cwd` is its working folder. */
export async function traceFiles(pid: number, cwd: string, output: string): Promise<FileTrace> {
  const tracer = spawn('strace', [...options, '-o', output, '-p', String(pid)], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  tracer.stderr.on('data', (chunk: Buffer) => (said += String(chunk)))
  await eventually('the tracer', () => {
    if (tracer.exitCode !== null) throw new Error(`strace ended: ${said}`)
    return said.includes('attached')
  })
  // The tracer sees only the start of later threads.
  const threads = readdirSync(`/proc/${pid}/task`).map(Number)
  return {
    end: async () => {
      const ended = new Promise(done => tracer.once('exit', done))
      tracer.kill('SIGINT')
      await ended
      return callsOutside(readFileSync(output, 'utf8'), threads, cwd)
    },
  }
}

interface Line {
  pid: number
  call: string
  /** The arguments and the result. */
  rest: string
}

/**
 * The calls of processes outside bubblewrap in a trace. A process is outside if it is one of `threads`, or was started by one that is outside
 * and did not become bubblewrap. Calls inside bubblewrap's namespace return other numbers of processes than the trace uses.
 */
export function callsOutside(trace: string, threads: readonly number[], cwd: string): TracedCall[] {
  const lines = parse(trace)
  const bubblewraps = new Set(lines.filter(isBubblewrap).map(({ pid }) => pid))
  const callersOf = new Map<number, number[]>()
  for (const { pid, call, rest } of lines)
    if (/^(clone3?|v?fork)$/.test(call)) {
      const started = Number(/ = (\d+)/.exec(rest)?.[1])
      callersOf.set(started, [...(callersOf.get(started) ?? []), pid])
    }
  const callerOf = (pid: number): number | undefined =>
    callersOf.get(pid)?.find(caller => !bubblewraps.has(caller) && isOutside(caller))
  const isOutside = (pid: number): boolean => threads.includes(pid) || callerOf(pid) !== undefined

  const folders = new Map(threads.map(thread => [thread, cwd]))
  const folderOf = (pid: number): string => {
    const known = folders.get(pid) ?? folderOf(callerOf(pid)!)
    folders.set(pid, known)
    return known
  }
  const inside = new Set<number>()
  /** Folders by the descriptors that the server last had for them. */
  const opened = new Map<string, string>()
  const found: TracedCall[] = []
  for (const line of lines) {
    const { pid, call, rest } = line
    if (isBubblewrap(line)) inside.add(pid)
    if (inside.has(pid) || !isOutside(pid)) continue
    if (call === 'chdir') folders.set(pid, pathsIn(rest, folderOf(pid))[0] ?? folderOf(pid))
    else if (call === 'fchdir') folders.set(pid, /^\d+<([^>]*)>/.exec(rest)?.[1] ?? folderOf(pid))
    // A descriptor of O_PATH reads nothing. It is what bubblewrap mounts.
    else if (files.has(call) && !rest.includes('O_PATH')) {
      for (const path of pathsIn(rest, folderOf(pid))) found.push({ call, path: throughDescriptor(path, opened) })
      const [, descriptor, path] = resultOf(rest)
      if (descriptor !== undefined) opened.set(descriptor, path!)
    }
  }
  return found
}

const isBubblewrap = ({ call, rest }: Line): boolean => call === 'execve' && /^"[^"]*\/bwrap"/.test(rest)

/**
 * The calls in a trace. A call is one line, `12 openat(…) = 3</path>`, or two of them with others between: `12 openat(… <unfinished ...>` and
 * `12 <... openat resumed>…`.
 */
function parse(trace: string): Line[] {
  const unfinished = new Map<string, string>()
  const lines: Line[] = []
  for (const line of trace.split('\n')) {
    const [, pid = '', call, rest = ''] = /^(\d+) +(\w+)\((.*)$/.exec(line) ?? []
    const resumed = /^(\d+) +<\.\.\. (\w+) resumed>(.*)$/.exec(line)
    if (resumed) {
      const [, by = '', name = '', end] = resumed
      lines.push({ pid: Number(by), call: name, rest: `${unfinished.get(by) ?? ''}${end}` })
    } else if (rest.endsWith(' <unfinished ...>')) unfinished.set(pid, rest.slice(0, -' <unfinished ...>'.length))
    else if (call !== undefined) lines.push({ pid: Number(pid), call, rest })
  }
  return lines
}

/** `/proc/self/fd/12/name` is a name in the folder that descriptor 12 refers to. */
const throughDescriptor = (path: string, opened: ReadonlyMap<string, string>): string =>
  path.replace(/^\/proc\/self\/fd\/(\d+)(?=\/)/, (whole, descriptor: string) => opened.get(descriptor) ?? whole)

/** The descriptor and the path of an opened file: ` = 12</folder/name>`. */
const resultOf = (text: string): readonly string[] => / = (\d+)<([^>]*)>/.exec(text) ?? []

/** The paths in arguments, and the one of an opened file. A relative path follows its folder: `AT_FDCWD</folder>, "path"`. */
function pathsIn(text: string, cwd: string): string[] {
  const named = [...text.matchAll(/(?:(?:AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"((?:[^"\\]|\\.)*)"/g)]
  const [, , opened] = resultOf(text)
  return [
    ...named.map(([, folder, path]) => (isAbsolute(path!) ? path! : resolve(folder ?? cwd, path!))),
    ...(opened === undefined ? [] : [opened]),
  ]
}
