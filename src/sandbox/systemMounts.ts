import { lstat, readlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isWithin } from '../config/folders.ts'
import type { Mount } from './mount.ts'

/** A part of the root folder: a mount, or a link such as /bin -> usr/bin. */
export type SystemPart = Mount | { kind: 'link'; source: string; target: string }

/** The folders that each session reads. Others, such as /home, /root, /srv, /mnt, /var and /run, are not visible. */
const systemFolders = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/opt',
  '/nix/store',
  '/gnu/store',
  '/run/current-system',
  '/sys/devices/system/cpu',
]

/** The system's folders, read-only. */
export const systemParts = async (): Promise<SystemPart[]> => (await Promise.all(systemFolders.map(systemPart))).flat()

/** Whether every agent sees a path anyway. */
export const isOfSystem = (path: string): boolean => systemFolders.some(folder => isWithin(folder, path))

async function systemPart(target: string): Promise<SystemPart[]> {
  const stats = await lstat(target).catch(() => undefined)
  if (!stats) return []
  return stats.isSymbolicLink() && dirname(target) === '/'
    ? [{ kind: 'link', source: await readlink(target), target }]
    : [{ kind: 'ro', target }]
}
