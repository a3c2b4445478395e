import { execFileSync } from 'node:child_process'

/** Whether this machine can build walls. Says so once where it cannot. */
export const hasBubblewrap: boolean = tryBubblewrap()

function tryBubblewrap(): boolean {
  try {
    execFileSync(
      'bwrap',
      ['--unshare-user', '--disable-userns', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', 'true'],
      {
        stdio: 'ignore',
      },
    )
    return true
  } catch {
    console.warn('Skipped: bubblewrap does not work here, so there is no sandbox to test.')
    return false
  }
}
