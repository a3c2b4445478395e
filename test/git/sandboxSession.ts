import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { openGitView, type GitPlace, type GitView } from '../../src/worktrees/gitView.ts'
import type { Mount } from '../../src/sandbox/mount.ts'
import { environment } from './cards.ts'
import { reportSkipped } from '../support/run/reportSkipped.ts'
import type { Worktrees } from '../../src/worktrees/worktrees.ts'

const bwrapArguments =
  '--unshare-user --unshare-pid --die-with-parent --cap-drop ALL --disable-userns --ro-bind / / --dev /dev --ro-bind-try /dev/shm /dev/shm'.split(
    ' ',
  )
const asArguments = ({ kind, source, target }: Mount) =>
  kind === 'tmpfs'
    ? ['--tmpfs', target, '--remount-ro', target]
    : [kind === 'rw' ? '--bind' : '--ro-bind', source ?? target, target]

/** Whether bubblewrap works on this machine. */
export const hasSandbox = spawnSync('bwrap', [...bwrapArguments, 'true']).status === 0
if (!hasSandbox) reportSkipped('Git in the sandbox', 'bubblewrap does not work here')

/** A session in the sandbox: the actions of an agent's shell. */
export interface Session {
  view: GitView
  /** Runs a script and returns its output. @throws Error if it fails */
  run(script: string): string
  /** Runs a script that can fail. */
  attempt(script: string): { status: number | null; output: string }
}

export async function openSession(worktrees: Worktrees, place: GitPlace): Promise<Session> {
  const view = await openGitView(worktrees, place)
  const folder = place.worktreePath ?? place.project.path
  const attempt = (script: string) => {
    const { status, stdout, stderr } = spawnSync(
      'bwrap',
      [...bwrapArguments, ...view.mounts.flatMap(asArguments), '--chdir', folder, 'sh', '-c', script],
      { env: environment, encoding: 'utf8' },
    )
    return { status, output: (stdout + stderr).trim() }
  }
  const run = (script: string) => {
    const { status, output } = attempt(`set -e\n${script}`)
    if (status !== 0) throw new Error(`ended with ${status}: ${output}`)
    return output
  }
  return { view, run, attempt }
}

/** Everything below a folder except the agent's private files. */
export function fingerprint(folder: string, without: RegExp): Record<string, string> {
  const entries: Record<string, string> = {}
  // With types it follows no link.
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
  const paths = found.map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
  for (const path of paths.filter(each => !without.test(each))) {
    const stats = lstatSync(join(folder, path))
    const content = stats.isFile()
      ? createHash('sha1')
          .update(readFileSync(join(folder, path)))
          .digest('hex')
      : stats.isSymbolicLink()
        ? readlinkSync(join(folder, path))
        : ''
    entries[path] = `${stats.mode} ${content}`
  }
  return entries
}
