import { spawnSync } from 'node:child_process'
import { reportSkipped } from '../run/reportSkipped.ts'

/** Whether bubblewrap works on this machine. */
export const hasBubblewrap: boolean = tryBubblewrap()

/** Values of `--sandbox` with which all tests of worktrees run, if this machine supports them. */
export const sandboxes = hasBubblewrap ? (['require', 'off'] as const) : (['off'] as const)

function tryBubblewrap(): boolean {
  const args = ['--unshare-user', '--disable-userns', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', 'true']
  const { error, status, stderr } = spawnSync('bwrap', args, { encoding: 'utf8' })
  if (status === 0) return true
  reportSkipped('Tests in the sandbox', `bubblewrap does not work here: ${error?.message ?? stderr}`)
  return false
}
