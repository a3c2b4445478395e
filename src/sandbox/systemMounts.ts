import { lstat, readdir, readlink, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isWithin } from '../config/folders.ts'
import type { Mount } from './mount.ts'

/** A part of the root folder: a mount, or a link such as /bin -> usr/bin. */
export type SystemPart = Mount | { kind: 'link'; source: string; target: string }

/** What of the root folder everything may read. What is not here (/home, /root, /srv, /mnt, /var, /run) is not there. */
const systemFolders = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/nix/store',
  '/gnu/store',
  '/run/current-system',
  '/sys/devices/system/cpu',
]
const maxDepth = 4

/** The system's folders, read-only, without the files in /etc that not everybody on this machine may read. */
export async function systemParts(): Promise<SystemPart[]> {
  const parts = await Promise.all(systemFolders.map(systemPart))
  return [...parts.flat(), ...(await resolverFile()), ...(await privateParts('/etc', 0))]
}

/** Whether every agent sees a path anyway. */
export const isOfSystem = (path: string): boolean => systemFolders.some(folder => isWithin(folder, path))

async function systemPart(target: string): Promise<SystemPart[]> {
  const stats = await lstat(target).catch(() => undefined)
  if (!stats) return []
  return stats.isSymbolicLink() && dirname(target) === '/'
    ? [{ kind: 'link', source: await readlink(target), target }]
    : [{ kind: 'ro', target }]
}

/** The list of name servers is often a link to a file in /run. */
async function resolverFile(): Promise<Mount[]> {
  const file = await realpath('/etc/resolv.conf').catch(() => undefined)
  return file === undefined || isOfSystem(file) ? [] : [{ kind: 'ro', target: file }]
}

/** A server that runs as root, or owns such a file, could read it, and so could its agents. */
async function privateParts(folder: string, depth: number): Promise<Mount[]> {
  if (depth === maxDepth) return []
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const found = await Promise.all(
    entries.map(async (entry): Promise<Mount[]> => {
      const target = join(folder, entry.name)
      const stats = entry.isFile() || entry.isDirectory() ? await lstat(target).catch(() => undefined) : undefined
      if (!stats) return []
      if ((stats.mode & 0o004) === 0)
        return [stats.isDirectory() ? { kind: 'tmpfs', target } : { kind: 'ro', source: '/dev/null', target }]
      return stats.isDirectory() ? privateParts(target, depth + 1) : []
    }),
  )
  return found.flat()
}
