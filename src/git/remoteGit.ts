import { setTimeout as delay } from 'node:timers/promises'
import { createSemaphore } from '../async/semaphore.ts'
import { tailOf } from '../process/output.ts'
import { exitCodeOf, LaunchFailed, type Child, type ProcessTrees } from '../process/spawn.ts'
import type { Repository } from './workingTrees.ts'
import { gitEnvironment, GitFailed, GitMissing, withoutPrograms } from './git.ts'
import { withCredential, type GitCredential } from './gitCredential.ts'

const maxConcurrent = 4
const termMs = 1000
const lastWordsMs = 500
const maxStderrBytes = 64 * 1024

/** How Git can reach another machine: with processes that end with this server, even after a crash, and with a time limit. */
export interface RemoteReach {
  processTrees: ProcessTrees
  timeoutMs: number
  /** The credential for remotes at its address. Other remotes are reached with the account's own credentials. */
  credential?: GitCredential
  /** Reaches repositories in folders of this machine. */
  local: LocalRemote
}

/** Reaches the repository in a folder of this machine. */
export interface LocalRemote {
  /** Runs Git against the folder. Afterwards, the objects of a fetched commit are in the repository. */
  run(repository: Repository, folder: string, run: LocalRun): Promise<RemoteResult & { fetched: string | null }>
  /** Copies large files of Git LFS from the folder into the repository, as far as the folder has them. */
  fetchLargeFiles(repository: Repository, folder: string, ids: readonly string[]): Promise<void>
  /** Copies large files of Git LFS from the repository into the folder. */
  pushLargeFiles(repository: Repository, folder: string, ids: readonly string[]): Promise<void>
}

/** A run of Git, in a Git folder that knows some commits of the repository. */
export interface LocalRun {
  args: readonly string[]
  known: readonly string[]
  /** The format of object names, if it is not the usual one. */
  format: 'sha256' | undefined
  /** The ref that a fetch sets; null for a push. */
  fetchedRef: string | null
  timeoutMs: number
}

/** The result of a Git process that reaches another machine. */
export interface RemoteResult {
  exitCode: number
  stderr: string
}

/** A separate limit, so that unresponsive remotes do not block work on local repositories. */
const withSlot = createSemaphore(maxConcurrent)

/**
 * Runs Git so that it reaches other repositories with the account's own means, such as its SSH command and credential helpers. In
 * a separate session, its processes find no terminal for prompts, and all of them end at the time limit.
 * @throws GitFailed; the store errors of `ProcessTrees.spawn`
 */
export const remoteGit = (
  cwd: string,
  args: readonly string[],
  { processTrees, timeoutMs, credential, env }: RemoteReach & { env: Record<string, string> },
): Promise<RemoteResult> =>
  withSlot(async () => {
    const given = withCredential(credential)
    const child = await processTrees
      .spawn({
        command: ['git', '--no-pager', ...withoutPrograms, ...given.args, ...args],
        cwd,
        env: gitEnvironment({ ...unattended, ...given.env, ...env }),
        stdin: 'ignore',
        kind: 'fetch',
      })
      .catch((error: unknown) => {
        throw error instanceof LaunchFailed ? toGitError(error) : error
      })
    try {
      return await resultOf(child, timeoutMs)
    } finally {
      for (const stream of [child.stdout, child.stderr]) stream.destroy()
    }
  })

async function resultOf(child: Child, timeoutMs: number): Promise<RemoteResult> {
  child.stdout.resume()
  const stderrTail = tailOf(child.stderr, maxStderrBytes)
  const stderrClosed = new Promise(resolve => child.stderr.once('close', resolve))
  const over = new AbortController()
  const late = delay(timeoutMs, undefined, { signal: over.signal }).catch(() => undefined)
  const exit = await Promise.race([child.exited, late])
  over.abort()
  if (!exit) {
    await child.stop({ graceMs: 0, termMs })
    throw new GitFailed('timeout', 'Git took too long.')
  }
  // Remaining background processes belong to the account: a connection that SSH shares, a cache of credentials. They can keep the
  // pipe open.
  await child.forget()
  await Promise.race([stderrClosed, delay(lastWordsMs, undefined, { ref: false })])
  return { exitCode: exitCodeOf(exit), stderr: stderrTail.text() }
}

const toGitError = ({ reason, message, cause }: LaunchFailed): GitFailed | GitMissing =>
  reason === 'missing'
    ? new GitMissing(cause)
    : new GitFailed(reason === 'folder' ? 'folder' : 'failed', message, cause)

const unattended = {
  GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
  SSH_ASKPASS_REQUIRE: 'force',
  GCM_INTERACTIVE: 'never',
}
