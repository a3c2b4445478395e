import type { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { stat } from 'node:fs/promises'
import { createSemaphore } from '../async/semaphore.ts'
import { findProgram } from '../process/findProgram.ts'
import { Problem } from '../contract/errors.ts'

export interface GitOptions {
  /** Written to standard input. */
  input?: string | Buffer
  /**
   * Variables of this run, such as GIT_DIR. No other GIT_ variable is inherited, except those that locate the account's
   * configuration.
   */
  env?: Record<string, string>
  timeoutMs?: number
  /** The limit of output. */
  maxBytes?: number
  /** Truncates longer output instead of failing. */
  cutsOutput?: boolean
  /** The exit codes that `gitOutput` accepts; by default 0. */
  exitCodes?: readonly number[]
  /** A file to which the output is appended instead. */
  appendTo?: string
  /** Receives the output in parts instead. The next part is read when the promise resolves. */
  onOutput?: (bytes: Buffer) => Promise<void>
}

export interface GitResult {
  exitCode: number
  stdout: Buffer
  stderr: string
  isCut: boolean
}

/** This machine has no Git. */
export const gitMissing = 'Git was not found on the server. Install it, or correct the PATH of the server.'

export class GitMissing extends Problem {
  constructor(cause: unknown) {
    super('CONFLICT', gitMissing, { cause })
  }
}

/** Git did not finish: the folder is missing, it timed out, exceeded the limit of output or of memory, or failed. */
export class GitFailed extends Error {
  readonly reason: 'folder' | 'timeout' | 'output' | 'memory' | 'failed'
  constructor(reason: GitFailed['reason'], message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'GitFailed'
    this.reason = reason
  }
}

/** Git's message in a failure, as a sentence. */
export const gitReason = ({ message }: GitFailed): string =>
  message
    .replace(/^git \S+ ended with \d+: /, '')
    .replace(/^(error|fatal): /gm, '')
    .replaceAll('\n', ' ')
    .replace(/[^.]$/, '$&.')

const usualTimeoutMs = 20_000
const usualMaxBytes = 16 * 1024 * 1024
const maxConcurrent = 8
/**
 * The memory that Git can allocate at once. A few bytes of an agent's pack can be a delta for an object of many gigabytes. Git
 * does not load files above 512 MiB (`core.bigFileThreshold`).
 */
const maxAllocation = '1g'

const settings = (list: readonly string[]) => list.flatMap(setting => ['-c', setting])

/** Disables the programs that a repository's configuration can start, and Git's background tasks. */
export const withoutPrograms = settings([
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.pager=cat',
  'core.alternateRefsCommand=',
  'core.quotePath=false',
  'protocol.ext.allow=never',
  'diff.external=',
  'gc.auto=0',
  'maintenance.auto=false',
  'submodule.recurse=false',
  'safe.bareRepository=explicit',
])
/** Also disables transports, because a missing object would be fetched. */
const harmless = [
  ...withoutPrograms,
  ...settings(['core.sshCommand=false', 'protocol.allow=never', 'credential.helper=']),
]

/**
 * Runs git in a folder, without a shell, a terminal, locks, hooks, monitors, transports or the server's secrets.
 * Resolves for every exit code.
 * @throws GitFailed, GitMissing
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
    if (result.isMaxBuffer) throw new GitFailed('output', 'The output of Git is too large.', result)
    if (result.exitCode === undefined) throw await whyNotStarted(result, result.code, cwd)
    return { exitCode: result.exitCode, stdout: Buffer.from(result.stdout ?? []), stderr, isCut: false }
  })

/** The messages of Git at its limits of memory. */
const outOfMemory = /out of memory|attempting to allocate|cannot allocate memory/i

/** One limit per process, not per board, because all git processes share the descriptors of the process and the machine's cores. */
const withSlot = createSemaphore(maxConcurrent)

/**
 * Like `git`, but fails for an exit code other than 0 (or `exitCodes`).
 * @throws GitFailed, GitMissing
 */
export async function gitOutput(cwd: string, args: readonly string[], options?: GitOptions): Promise<Buffer> {
  const { exitCode, stdout, stderr } = await git(cwd, args, options)
  if (!(options?.exitCodes ?? [0]).includes(exitCode))
    throw new GitFailed(
      outOfMemory.test(stderr) ? 'memory' : 'failed',
      `git ${args[0]} ended with ${exitCode}: ${stderr.trim()}`,
    )
  return stdout
}

/** Loaded on demand, for a quick start of the server. */
async function run(cwd: string, args: readonly string[], options: GitOptions) {
  const running = start(await import('execa'), cwd, args, options)
  if (options.onOutput) for await (const bytes of running.stdout!) await options.onOutput(bytes as Buffer)
  return running
}

function start({ execa }: typeof import('execa'), cwd: string, args: readonly string[], options: GitOptions) {
  try {
    return execa('git', ['--no-pager', ...harmless, ...args], {
      cwd,
      env: gitEnvironment(options.env),
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
      ...(options.onOutput && { buffer: { stdout: false } }),
    })
  } catch (error) {
    throw new GitFailed('failed', 'Git could not be started.', error)
  }
}

/**
 * Without a free descriptor, a process fails without streams, which crashes execa before it handles the failure. That would end
 * the server.
 */
subscribe('child_process', message => {
  ;(message as { process: ChildProcess }).process.on('error', () => {})
})

/** A missing program and a missing folder have the same code. */
async function whyNotStarted(cause: unknown, code: string | undefined, cwd: string): Promise<GitFailed | GitMissing> {
  const isMissing = code === 'ENOENT' || code === 'ENOTDIR'
  // An agent can remove and restore the folder at any time, so its presence alone does not prove that Git is missing.
  if (isMissing && (await findProgram('git', process.env.PATH ?? '')) === null) return new GitMissing(cause)
  const hasFolder = (await stat(cwd).catch(() => undefined))?.isDirectory()
  return new GitFailed(isMissing && !hasFolder ? 'folder' : 'failed', 'Git could not be started.', cause)
}

/**
 * The variables with which Git works only on a Git folder. Git searches no repository, and does not open the working tree that
 * the configuration names, which a sandbox can hide.
 */
export const inGitDir = (gitDir: string) => ({ GIT_DIR: gitDir, GIT_WORK_TREE: gitDir })

/** The variables that locate the account's configuration. */
const accountConfiguration: ReadonlySet<string> = new Set([
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_SYSTEM',
  'GIT_CONFIG_NOSYSTEM',
])

/** The environment of a Git process: without the server's secrets, and without prompts. */
export function gitEnvironment(extra: Record<string, string> = {}): Record<string, string> {
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
    GIT_ALLOC_LIMIT: maxAllocation,
    GIT_ASKPASS: 'false',
    SSH_ASKPASS: 'false',
    ...extra,
  }
}
