import { spawnSync } from 'node:child_process'

/** A command inside bubblewrap that sees the machine's files, in namespaces of its own. */
export const inNamespaces = (namespaces: readonly string[], command: readonly string[]): string[] => [
  ...'bwrap --die-with-parent --new-session --cap-drop ALL --bind / / --dev /dev --proc /proc'.split(' '),
  ...namespaces,
  '--',
  ...command,
]

let works: boolean | undefined
/** Whether bubblewrap is there and may make namespaces; says so once where it does not. */
export function hasBubblewrap(): boolean {
  if (works !== undefined) return works
  const [program, ...args] = inNamespaces(['--unshare-user', '--unshare-pid', '--unshare-net'], ['true'])
  const { error, status, stderr } = spawnSync(program!, args, { encoding: 'utf8' })
  works = status === 0
  if (!works) console.log(`Skipped: bubblewrap does not work here (${error?.message ?? stderr.trim()}).`)
  return works
}
