import { isWithin } from '../config/folders.ts'
import type { SandboxPolicy } from './policy.ts'

/** The command that runs another one in macOS's own sandbox. */
export const seatbeltCommand = (policy: SandboxPolicy, argv: readonly string[]): string[] => [
  '/usr/bin/sandbox-exec',
  '-p',
  seatbeltProfile(policy),
  ...argv,
]

/**
 * A profile in which the last matching rule decides. Apart from temporary folders and devices, only the paths in the policy can be written.
 * In the home folder, /Users and /Volumes, only the paths in the policy can be read. Seatbelt has no mounts, so access to a path that
 * another one covers is refused instead.
 */
function seatbeltProfile({ home, mounts, network }: SandboxPolicy): string {
  const rules = mounts.flatMap(({ kind, source, target }) => {
    const path = `(subpath ${quotePath(source ?? target)})`
    if (kind === 'rw') return [`(allow file-read* file-write* ${path})`]
    if (kind === 'tmpfs') return [`(deny file-read* file-write* ${path})`]
    return [`(allow file-read* ${path})`, `(deny file-write* ${path})`]
  })
  const above = mounts
    .filter(({ target }) => isWithin(home, target))
    .map(({ target }) => `(literal ${quotePath(target)})`)
  return [
    '(version 1)',
    '(allow default)',
    '(deny file-write*)',
    '(allow file-write* (subpath "/dev") (subpath "/private/tmp") (subpath "/private/var/folders"))',
    `(deny file-read* (subpath ${quotePath(home)}) (subpath "/Users") (subpath "/Volumes"))`,
    `(allow file-read-metadata ${[`(literal ${quotePath(home)})`, ...above].join(' ')})`,
    ...rules,
    '(deny process-info* (target others))',
    '(deny signal (target others))',
    ...(network === 'full' ? [] : ['(deny network*)', '(allow network* (local ip "localhost:*"))']),
  ].join('\n')
}

const quotePath = (path: string): string => JSON.stringify(path)
