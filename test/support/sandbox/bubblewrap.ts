import { spawnSync } from 'node:child_process'

/** Whether this machine can build walls. Says so once where it cannot. */
export const hasBubblewrap: boolean = tryBubblewrap()

function tryBubblewrap(): boolean {
  const args = ['--unshare-user', '--disable-userns', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', 'true']
  const { error, status, stderr } = spawnSync('bwrap', args, { encoding: 'utf8' })
  if (status === 0) return true
  console.warn(
    `Skipped: bubblewrap does not work here (${error?.message ?? stderr.trim()}): there is no sandbox to test.`,
  )
  return false
}
