import { spawnSync } from 'node:child_process'
import { writeSync } from 'node:fs'
import type { Result } from 'execa'
import { Failure } from '../failures/failure.ts'

/** The time that a program has to end after a signal. */
const graceMs = 2000
const signals = ['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
/**
 * Turns off the modes of full-screen programs: mouse, focus events, bracketed paste, alternate screen. The cursor is saved
 * first, because leaving the alternate screen restores it.
 */
const resetModes =
  '\u001b[?1006l\u001b[?1003l\u001b[?1002l\u001b[?1000l\u001b[?1004l\u001b[?2004l\u001b7\u001b[?1049l\u001b[m\u001b[?7h\u001b[?25h'

/** How a program ended: its exit code or signal, and the signal that this process received in the meantime. */
export interface ProgramEnd {
  end: number | string
  received?: NodeJS.Signals
}

/**
 * Runs a shell script that uses the terminal. A signal that would end this process is sent to the program instead, so that the caller can end in
 * order. Afterwards, the terminal has its modes from before.
 * @param args the script's name and arguments
 * @throws Failure if the shell cannot be started
 */
export async function runInTerminal(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<ProgramEnd> {
  const { execa } = await import('execa')
  const modes = stty('-g')
  const program = execa('sh', ['-c', script, ...args], { stdio: 'inherit', env, extendEnv: false, reject: false })
  let received: NodeJS.Signals | undefined
  let timer: NodeJS.Timeout | undefined
  const forward = (signal: NodeJS.Signals) => {
    received ??= signal
    signalTree(program.pid, signal)
    timer ??= setTimeout(() => signalTree(program.pid, 'SIGKILL'), graceMs)
  }
  // Ctrl-C belongs to the program.
  const ignore = () => undefined
  for (const signal of signals) process.on(signal, forward)
  process.on('SIGINT', ignore)
  try {
    const result = await program
    if (result.signal !== undefined) writeNow(1, resetModes)
    return { end: endOf(result), received }
  } finally {
    clearTimeout(timer)
    if (modes !== undefined) stty(modes)
    for (const signal of signals) process.off(signal, forward)
    process.off('SIGINT', ignore)
  }
}

/** Writes synchronously, for the end of a process. Does nothing if the terminal is closed. */
export function writeNow(descriptor: 1 | 2, text: string): void {
  try {
    writeSync(descriptor, text)
  } catch {
    /* The terminal is closed. */
  }
}

/** Ends this process like an unhandled signal. */
export function dieOf(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}

/**
 * Reads (`-g`) or sets the modes of the terminal. Undefined if that fails. In the background, the program is stopped
 * and then killed, because the modes belong to the foreground.
 */
export function stty(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('stty', args, {
    stdio: ['inherit', 'pipe', 'ignore'],
    encoding: 'utf8',
    timeout: 1000,
    killSignal: 'SIGKILL',
  })
  return status === 0 ? stdout.trim() : undefined
}

/** Signals a program and its descendants: a shell does not pass signals on. Without ps, only the program. */
function signalTree(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  const { stdout = '' } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const parents = new Map(
    (stdout ?? '').split('\n').map(line => line.trim().split(/\s+/).map(Number) as [number, number]),
  )
  const isInTree = (each: number | undefined): boolean =>
    each === pid || (each !== undefined && each > 1 && isInTree(parents.get(each)))
  for (const each of [...parents.keys()].filter(isInTree).concat(parents.has(pid) ? [] : [pid]))
    try {
      process.kill(each, signal)
    } catch {
      /* The program has ended. */
    }
}

/** The exit code, or the signal that ended the program. @throws Failure if the program could not be started */
export function endOf({
  exitCode,
  signal,
  originalMessage,
}: Pick<Result, 'exitCode' | 'signal' | 'originalMessage'>): number | string {
  const end = exitCode ?? signal
  if (end === undefined) throw new Failure('failure', `the command cannot be started: ${originalMessage}`)
  return end
}
