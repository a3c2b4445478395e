import { rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Mount } from '../sandbox/mount.ts'

/** The number of open guards of each folder. */
const counts = new Map<string, number>()

/** Prevents an agent from creating a repository in its folder. */
export interface GitGuard {
  mount: Mount
  /** Removes the mount point. */
  close(): Promise<void>
}

/**
 * Opens a guard of a folder: an empty, read-only `.git`. A repository that an agent creates there could run programs with the
 * permissions of each user who runs Git in the folder. bubblewrap creates the mount point, and the last guard removes
 * it.
 */
export function openGitGuard(folder: string): GitGuard {
  const target = join(folder, '.git')
  counts.set(target, (counts.get(target) ?? 0) + 1)
  return {
    mount: { kind: 'tmpfs', target },
    close: async () => {
      const left = (counts.get(target) ?? 1) - 1
      if (left > 0) return void counts.set(target, left)
      counts.delete(target)
      await rmdir(target).catch(() => {
        /* A person has created a repository. */
      })
    },
  }
}
