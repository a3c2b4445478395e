import { setTimeout as delay } from 'node:timers/promises'
import { createSemaphore } from '../async/semaphore.ts'
import { tailOf } from '../process/output.ts'
import { exitCodeOf, LaunchFailed, type Child, type ProcessTrees } from '../process/spawn.ts'
import type { Repository } from './workingTrees.ts'
import { environment, GitFailed, GitMissing, withoutPrograms } from './git.ts'
import { withCredential, type GitCredential } from './gitCredential.ts'

const maxConcurrent = 4
const termMs = 1000
const lastWordsMs = 500
const maxSaidBytes = 64 * 1024

/** How Git may reach another machine: by processes that end with this server, however it does, and for how long. */
export interface RemoteReach {
  processTrees: ProcessTrees
  timeoutMs: number
  /** For remotes at its address; others are reached by the account's own means. */
  credential?: GitCredential
  /** For repositories in folders of this machine. */
  local: LocalRemote
}

/** Reaches the repository in a folder of this machine. */
export interface LocalRemote {
  /** Runs Git against it. The objects of the commit that a fetch got are in the repository afterwards. */
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

/** What a run of Git that reaches another machine came to. */
export interface RemoteResult {
  exitCode: number
  stderr: string
}

/** Of its own, so that remotes that do not answer keep nobody from the repositories that are here. */
const withSlot = createSemaphore(maxConcurrent)

/**
 * Runs git so that it reaches other repositories by the account's own means, its SSH command and credential helpers among them. In a
 * session of its own nothing that it starts finds a terminal to ask on, and all of it ends with the time.
 * @throws GitFailed; what `ProcessTrees.spawn` throws of the store
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
        env: environment({ ...unattended, ...given.env, ...env }),
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
  const said = tailOf(child.stderr, maxSaidBytes)
  const saidAll = new Promise(resolve => child.stderr.once('close', resolve))
  const over = new AbortController()
  const late = delay(timeoutMs, undefined, { signal: over.signal }).catch(() => undefined)
  const exit = await Promise.race([child.exited, late])
  over.abort()
  if (!exit) {
    await child.stop({ graceMs: 0, termMs })
    throw new GitFailed('timeout', 'Git took too long.')
  }
  // What goes on by itself is the account's: a connection that SSH shares, a cache of credentials. It may keep the pipe.
  await child.forget()
  await Promise.race([saidAll, delay(lastWordsMs, undefined, { ref: false })])
  return { exitCode: exitCodeOf(exit), stderr: said.text() }
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
