import { createSemaphore } from '../async/semaphore.ts'
import { environment, GitFailed, withoutPrograms } from './git.ts'

const maxConcurrent = 4
const killAfterMs = 1000
const maxSaidBytes = 64 * 1024

/** What a run of Git that reaches another machine came to. */
export interface RemoteResult {
  exitCode: number | undefined
  stderr: string
}

/** Of its own, so that remotes that do not answer keep nobody from the repositories that are here. */
const withSlot = createSemaphore(maxConcurrent)

/**
 * Runs git so that it reaches other repositories by the account's own means, its SSH command and credential helpers among them. In a
 * session of its own nothing that it starts finds a terminal to ask on, and all of it ends with the time.
 * @throws GitFailed
 */
export const remoteGit = (
  cwd: string,
  args: readonly string[],
  { env, timeoutMs }: { env: Record<string, string>; timeoutMs: number },
): Promise<RemoteResult> =>
  withSlot(async () => {
    const { execa } = await import('execa')
    const child = execa('git', ['--no-pager', ...withoutPrograms, ...args], {
      cwd,
      env: environment({ ...unattended, ...env }),
      extendEnv: false,
      reject: false,
      stdin: 'ignore',
      stdout: 'ignore',
      detached: true,
      maxBuffer: maxSaidBytes,
    })
    const { pid } = child
    let isLate = false
    const end = (signal: NodeJS.Signals) => {
      if (pid !== undefined) endGroup(pid, signal)
    }
    const endAtExit = () => end('SIGKILL')
    process.once('exit', endAtExit)
    const timer = setTimeout(() => {
      isLate = true
      end('SIGTERM')
    }, timeoutMs)
    let killer: NodeJS.Timeout | undefined
    // What has left the group may hold the other end of the output for ever.
    const tooLate = new Promise<undefined>(resolve => {
      killer = setTimeout(() => resolve(undefined), timeoutMs + killAfterMs)
    })
    try {
      const result = await Promise.race([child, tooLate])
      if (isLate || !result) throw new GitFailed('timeout', 'Git took too long.')
      return { exitCode: result.exitCode, stderr: result.stderr }
    } finally {
      clearTimeout(timer)
      clearTimeout(killer)
      if (isLate) end('SIGKILL')
      process.off('exit', endAtExit)
    }
  })

const unattended = {
  GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
  SSH_ASKPASS_REQUIRE: 'force',
  GCM_INTERACTIVE: 'never',
}

function endGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    /* It has ended. */
  }
}
