import { readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { divideOwnCgroup } from '../../../src/sandbox/cgroup.ts'

const { status } = await divideOwnCgroup()

/** Whether these tests have a control group to divide. Says so where they have none. */
export const hasCgroup: boolean = status.kind === 'cgroup'
/** Says once why tests of control groups are skipped, where they are: what tests that pass write to the console is not shown. */
export function sayWhySkipped(): void {
  if (!hasCgroup)
    writeSync(
      2,
      `Skipped test/sandbox/cgroup.test.ts: ${status.reason} To run it: systemd-run --user --scope -p Delegate=yes npx vitest run --project quick test/sandbox/cgroup.test.ts\n`,
    )
}

/** The control group of this process, as a folder. */
export const ownCgroup = (): string =>
  join('/sys/fs/cgroup', /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))![1]!)
