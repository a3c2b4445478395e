import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { runWarm, type Ran } from './commandWorker.ts'

export interface RunOptions {
  input?: string
  env?: Record<string, string>
  cwd?: string
}

/** The built program, run by a user with an empty home. */
export interface CommandLine {
  /** The home folder, in which tests can create files. */
  home: string
  env: Record<string, string>
  /** Runs `board` with these arguments, in a warm process unless the test is about the process. Without `input`, stdin is empty. */
  board(args: readonly string[], options?: RunOptions): Promise<Ran>
  /** Runs `board` and returns its stdout; fails with its stderr unless it exits with 0. */
  ok(args: readonly string[], options?: RunOptions): Promise<string>
  /** Runs the command with `--json`, and parses its output. */
  json<T = Record<string, string>>(args: readonly string[], options?: RunOptions): Promise<T>
  /** Starts a command that runs until it is interrupted. `close` also ends it. */
  start(args: readonly string[], env?: Record<string, string>): Going
  close(): void
}

/** A running command, with its output so far. `code` is undefined until it has ended, 130 after an interruption. */
export interface Going {
  stdout: string
  stderr: string
  code: number | null | undefined
  interrupt(): void
}

const program = resolve(import.meta.dirname, '../../../bin/board.js')

/** Commands that are servers, exit the process or draw the screen, and variables that Node reads at its start. */
const needsProcess = ([noun = '']: readonly string[], env: Record<string, string>) =>
  /^(__complete|completion|serve|server|ui|browse|mcp|database)$/.test(noun) ||
  Object.keys(env).some(name => /^(NODE_|TZ$)/.test(name))

/**
 * @param env the environment in addition to PATH and a home: BOARD_URL, BOARD_TOKEN, BOARD_FORCE_TTY
 * @param isWarm false for a separate process per command
 */
export function commandLine(env: Record<string, string> = {}, { isWarm = true } = {}): CommandLine {
  const home = mkdtempSync(join(tmpdir(), 'board-home-'))
  const whole = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local', 'share'),
    TERM: 'xterm',
    LC_ALL: 'C.UTF-8',
    BOARD_COMPLETION_TIMEOUT_MS: '10000',
    ...env,
  }
  const board = (args: readonly string[], { input, env: more, cwd = home }: RunOptions = {}) => {
    const all = { ...whole, ...more }
    return isWarm && input === undefined && !needsProcess(args, all)
      ? runWarm(args, all, cwd)
      : run(process.execPath, [program, ...args], { input, cwd, env: all })
  }
  const ok = async (args: readonly string[], options?: RunOptions) => {
    const { code, stdout, stderr } = await board(args, options)
    if (code !== 0) throw new Error(`board ${args.join(' ')} ended with ${code}: ${stderr}`)
    return stdout
  }
  const children: ChildProcess[] = []
  const start = (args: readonly string[], more?: Record<string, string>) => {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: home,
      env: { ...whole, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    return going(child)
  }
  const close = () => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(home, { recursive: true, force: true })
  }
  return {
    home,
    env: whole,
    board,
    ok,
    json: async (args, options) => JSON.parse(await ok([...args, '--json'], options)),
    start,
    close,
  }
}

function going(child: ChildProcessByStdio<null, Readable, Readable>): Going {
  const going: Going = { stdout: '', stderr: '', code: undefined, interrupt: () => child.kill('SIGINT') }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    going.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    going.stderr += text
  })
  child.on('close', (code, signal) => {
    going.code = signal === 'SIGINT' ? 130 : code
  })
  return going
}

/** Runs a program to its end. */
export function run(file: string, args: readonly string[], { input = '', env, cwd }: RunOptions = {}): Promise<Ran> {
  return new Promise((done, fail) => {
    const child = spawn(file, args, { env, cwd, stdio: 'pipe' })
    const ran = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      ran.stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      ran.stderr += text
    })
    child.stdin.on('error', () => {
      /* The program exited without reading. */
    })
    child.stdin.end(input)
    child.on('error', fail)
    child.on('close', code => done({ code, ...ran }))
  })
}

/** Runs command lines sequentially in one process, which is faster than a process each. */
export async function inTurn(cli: CommandLine, lines: readonly (readonly string[])[]): Promise<Ran[]> {
  const { code, stdout, stderr } = await run(
    process.execPath,
    [resolve(import.meta.dirname, '../../fixtures/inTurn.mjs'), JSON.stringify(lines)],
    { env: cli.env, cwd: cli.home },
  )
  if (code !== 0 || stderr !== '') throw new Error(`It ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
