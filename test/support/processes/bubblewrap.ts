import { spawnSync } from 'node:child_process'
import { reportSkipped } from '../run/reportSkipped.ts'

/** A command inside bubblewrap with access to the machine's files, in separate namespaces. */
export const inNamespaces = (namespaces: readonly string[], command: readonly string[]): string[] => [
  ...'bwrap --die-with-parent --new-session --cap-drop ALL --bind / / --dev /dev --proc /proc'.split(' '),
  ...namespaces,
  '--',
  ...command,
]

let works: boolean | undefined
/** Whether bubblewrap is installed and can create namespaces. */
export function hasBubblewrap(): boolean {
  if (works !== undefined) return works
  const [program, ...args] = inNamespaces(['--unshare-user', '--unshare-pid', '--unshare-net'], ['true'])
  const { error, status, stderr } = spawnSync(program!, args, { encoding: 'utf8' })
  works = status === 0
  if (!works) reportSkipped('Tests in namespaces', `bubblewrap does not work here: ${error?.message ?? stderr}`)
  return works
}
