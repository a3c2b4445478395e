import type { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { stat } from 'node:fs/promises'
import { createSemaphore } from '../async/semaphore.ts'

export interface GitOptions {
  /** Written to standard input. */
  input?: string | Buffer
  /** Values that belong to the run, such as GIT_DIR. Nothing else that starts with GIT_ is inherited, save where the account's configuration stands. */
  env?: Record<string, string>
  timeoutMs?: number
  /** How many bytes of output are kept. */
  maxBytes?: number
  /** More output than that is cut off, and is no failure. */
  cutsOutput?: boolean
  /** The exit codes that are no failure to `gitOutput`: 0 unless given. */
  exitCodes?: readonly number[]
  /** A file that gets the output instead. It is appended to. */
  appendTo?: string
}

export interface GitResult {
  exitCode: number
  stdout: Buffer
  stderr: string
  isCut: boolean
}

/** Git did not run to its end: it or the folder is missing, it took too long, or said more than it may. `reason` tells which. */
export class GitFailed extends Error {
  readonly reason: 'missing' | 'folder' | 'timeout' | 'output' | 'failed'
  constructor(reason: GitFailed['reason'], message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'GitFailed'
    this.reason = reason
  }
}

const usualTimeoutMs = 20_000
const usualMaxBytes = 16 * 1024 * 1024
const maxConcurrent = 8

/** What a repository's configuration could start, switched off; transports too, for a missing object would fetch one. */
const harmless = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.pager=cat',
  'core.alternateRefsCommand=',
  'core.sshCommand=false',
  'core.quotePath=false',
  'protocol.allow=never',
  'protocol.ext.allow=never',
  'credential.helper=',
  'diff.external=',
  'gc.auto=0',
  'maintenance.auto=false',
  'submodule.recurse=false',
  'safe.bareRepository=explicit',
].flatMap(setting => ['-c', setting])

/**
 * Runs git in a folder, without a shell, a terminal, locks, hooks, monitors or transports, and with none of the server's secrets.
 * Every exit code is an answer.
 * @throws GitFailed
 */
export const git = (cwd: string, args: readonly string[], options: GitOptions = {}): Promise<GitResult> =>
  withSlot(async () => {
    const result = await run(cwd, args, options)
    const stderr = Buffer.from(result.stderr ?? [])
      .toString()
      .slice(0, 4000)
    if (result.timedOut) throw new GitFailed('timeout', 'Git took too long.', result)
    if (result.isMaxBuffer && options.cutsOutput)
      return { exitCode: 0, stdout: Buffer.from(result.stdout ?? []), stderr, isCut: true }
    if (result.isMaxBuffer) throw new GitFailed('output', 'Git printed more than is kept.', result)
    if (result.exitCode === undefined)
      throw new GitFailed(await whyNotStarted(result.code, cwd), 'Git could not be started.', result)
    return { exitCode: result.exitCode, stdout: Buffer.from(result.stdout ?? []), stderr, isCut: false }
  })

/** Of the whole process: git processes take its descriptors and the machine's cores, whichever board asks. */
const withSlot = createSemaphore(maxConcurrent)

/**
 * Like `git`, but an exit code other than 0 (or `exitCodes`) is a failure.
 * @throws GitFailed
 */
export async function gitOutput(cwd: string, args: readonly string[], options?: GitOptions): Promise<Buffer> {
  const { exitCode, stdout, stderr } = await git(cwd, args, options)
  if (!(options?.exitCodes ?? [0]).includes(exitCode))
    throw new GitFailed('failed', `git ${args[0]} ended with ${exitCode}: ${stderr.trim()}`)
  return stdout
}

/** Loaded when it is first needed: a server that starts has no use for it yet. */
async function run(cwd: string, args: readonly string[], options: GitOptions) {
  const { execa } = await import('execa')
  try {
    return await execa('git', ['--no-pager', ...harmless, ...args], {
      cwd,
      env: environment(options.env),
      extendEnv: false,
      reject: false,
      encoding: 'buffer',
      stripFinalNewline: false,
      cleanup: true,
      timeout: options.timeoutMs ?? usualTimeoutMs,
      forceKillAfterDelay: 2000,
      maxBuffer: options.maxBytes ?? usualMaxBytes,
      ...(options.input === undefined ? { stdin: 'ignore' as const } : { input: options.input }),
      ...(options.appendTo !== undefined && { stdout: { file: options.appendTo, append: true } }),
    })
  } catch (error) {
    throw new GitFailed('failed', 'Git could not be started.', error)
  }
}

/** Where no descriptor is free a process fails without streams, which execa stumbles over before it listens for the failure: that would end the server. */
subscribe('child_process', message => {
  ;(message as { process: ChildProcess }).process.on('error', () => {})
})

/** A program and the folder to run it in are missed by the same code. */
const whyNotStarted = async (code: string | undefined, cwd: string): Promise<GitFailed['reason']> =>
  code !== 'ENOENT' && code !== 'ENOTDIR'
    ? 'failed'
    : (await stat(cwd).catch(() => undefined))?.isDirectory()
      ? 'missing'
      : 'folder'

/** The texts of a NUL-separated list. */
export const nulSeparated = (output: Buffer): string[] => output.toString().split('\0').slice(0, -1)

/** Where the account's own configuration stands. */
const accountConfiguration: ReadonlySet<string> = new Set([
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_SYSTEM',
  'GIT_CONFIG_NOSYSTEM',
])

function environment(extra: Record<string, string> = {}): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && (!/^(GIT|BOARD)_/i.test(name) || accountConfiguration.has(name)),
  ) as Array<[string, string]>
  return {
    ...Object.fromEntries(inherited),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ASKPASS: 'false',
    SSH_ASKPASS: 'false',
    ...extra,
  }
}
