import type { SandboxPolicy } from './policy.ts'
import type { SystemPart } from './systemMounts.ts'

const mebibyte = 1024 * 1024
/** The size limits of a session's temporary folder and home folder, which are both in memory. */
const temporaryBytes = 1024 * mebibyte

/** The isolation of every session. Without capabilities and its own user namespaces, a session cannot undo it. */
const isolation = [
  '--unshare-user',
  '--disable-userns',
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup-try',
  '--cap-drop',
  'ALL',
  '--die-with-parent',
  '--new-session',
]

/** The parts of /proc that change the machine. Root can write to them without any capability, because it owns them. */
const kernelControls = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'scsi', 'acpi'].map(name => `/proc/${name}`)

/**
 * The arguments of bubblewrap for a command in the sandbox. `system` are the parts of the root folder that every session sees.
 */
export function bubblewrapCommand(
  policy: SandboxPolicy,
  system: readonly SystemPart[],
  cwd: string,
  argv: readonly string[],
): string[] {
  return [
    'bwrap',
    ...isolation,
    ...(policy.network === 'full' ? [] : ['--unshare-net']),
    ...system.flatMap(mountArguments),
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    ...kernelControls.flatMap(path => ['--ro-bind-try', path, path]),
    ...['/tmp', '/var/tmp', '/dev/shm', '/run/user', policy.home].flatMap(emptyFolder),
    ...policy.mounts.flatMap(mountArguments),
    ...(policy.data ?? []).flatMap(({ fd, target }) => ['--ro-bind-data', String(fd), target]),
    // These folders are in memory without a size limit, so they are read-only. A folder that only hides others needs no space.
    ...['/', '/dev', ...hidingFolders([...system, ...policy.mounts])].flatMap(target => ['--remount-ro', target]),
    '--chdir',
    cwd,
    '--',
    ...argv,
  ]
}

/** The empty folders on which nothing else was mounted later. */
const hidingFolders = (parts: readonly SystemPart[]): string[] =>
  parts
    .filter(({ kind, target }, at) => kind === 'tmpfs' && parts.findLastIndex(part => part.target === target) === at)
    .map(({ target }) => target)

const emptyFolder = (target: string): string[] => ['--size', String(temporaryBytes), '--tmpfs', target]

function mountArguments(part: SystemPart): string[] {
  const source = part.source ?? part.target
  if (part.kind === 'link') return ['--symlink', source, part.target]
  if (part.kind === 'tmpfs') return emptyFolder(part.target)
  if (part.descriptor !== undefined)
    return [part.kind === 'rw' ? '--bind-fd' : '--ro-bind-fd', String(part.descriptor), part.target]
  return [part.kind === 'rw' ? '--bind-try' : '--ro-bind-try', source, part.target]
}
