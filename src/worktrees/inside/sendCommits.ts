import { GitFailed, git } from '../../git/git.ts'
import { excludeTips } from '../../git/listRefs.ts'
import type { Send } from '../send.ts'

const packTimeoutMs = 5 * 60_000

/** Git without a configuration, in a Git folder that was created for one operation. */
export const bareEnvironment = (gitDir: string): Record<string, string> => ({
  GIT_DIR: gitDir,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_NO_REPLACE_OBJECTS: '1',
})

/** Sends a pack of a commit and of everything before it that the repository lacks. @throws GitFailed */
export async function sendCommits(gitDir: string, commonDir: string, tip: string, send: Send): Promise<void> {
  const args = ['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset']
  const { exitCode, stderr } = await git(gitDir, args, {
    env: bareEnvironment(gitDir),
    input: `${tip}\n${await excludeTips(commonDir)}`,
    timeoutMs: packTimeoutMs,
    onOutput: send,
  })
  if (exitCode !== 0) throw new GitFailed('failed', `git pack-objects ended with ${exitCode}: ${stderr.trim()}`)
}
