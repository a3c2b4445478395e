import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { divideOwnCgroup } from '../../../src/sandbox/cgroup.ts'
import { reportSkipped } from '../run/reportSkipped.ts'

const { status } = await divideOwnCgroup()

/** Whether these tests have a delegated control group. */
export const hasCgroup: boolean = status.kind === 'cgroup'
if (!hasCgroup)
  reportSkipped(
    'Sessions in control groups',
    `${status.reason} Run: systemd-run --user --scope -p Delegate=yes npx vitest run --project quick test/sandbox/cgroup.test.ts`,
  )

/** The folder of this process's control group. */
export const ownCgroup = (): string =>
  join('/sys/fs/cgroup', /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))![1]!)
