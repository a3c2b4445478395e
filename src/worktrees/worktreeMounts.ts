import { lstat, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isWithin } from '../config/folders.ts'
import { listAlternates } from '../git/alternates.ts'
import { shadowFolder, shadowsOf } from '../git/shadow.ts'
import { modulesOf } from '../git/submodules.ts'
import type { WorkingTree } from '../git/workingTrees.ts'
import type { Mount } from '../sandbox/mount.ts'

/** The folders that the process of a worktree sees in addition to the system. */
export interface WorktreeMounts {
  mounts: Mount[]
  /** Changes if one of the mounted folders is replaced. A running process keeps the folders of its start. */
  key: string
}

/** The folders that an operation on a worktree requires. */
export interface WorktreePlace extends Partial<WorkingTree> {
  topLevel: string
  /** Another folder whose files the operation reads. */
  from?: string
}

/**
 * The mounts for the process of a worktree. It can write the files, and the part of the card's Git folder that the agent can write. It can
 * read the repository's Git folder, and the stores from which the repository borrows objects. Git folders of other cards and of their
 * submodules are hidden.
 */
export async function worktreeMounts(place: WorktreePlace): Promise<WorktreeMounts> {
  const { topLevel, from, commonDir } = place
  const git = isWorkingTree(place) ? await gitMounts(place) : noGit
  const own: Mount = { kind: 'rw', target: topLevel, isPlain: true }
  // A mount of a folder hides earlier mounts inside it, and a worktree can be in the folder of its bare repository.
  const hasGitInside = commonDir !== undefined && isWithin(topLevel, commonDir)
  const mounts: Mount[] = [
    ...(from === undefined ? [] : [{ kind: 'ro', target: from, isPlain: true } as const]),
    ...(hasGitInside ? [own, ...git.mounts] : [...git.mounts, own]),
  ]
  const identities = await Promise.all([topLevel, ...git.folders].map(identityOf))
  return { mounts, key: JSON.stringify([mounts, identities]) }
}

export const isWorkingTree = (place: WorktreePlace): place is WorkingTree =>
  place.gitDir !== undefined && place.commonDir !== undefined

const noGit = { mounts: [], folders: [] }

async function gitMounts({
  topLevel,
  gitDir,
  commonDir,
}: WorkingTree): Promise<{ mounts: Mount[]; folders: string[] }> {
  const shadows = shadowsOf(commonDir)
  const own = shadowFolder({ topLevel, gitDir, commonDir })
  const common = join(own, 'common')
  const [stores, hasShadows, hasOwn, hidden] = await Promise.all([
    listAlternates(join(commonDir, 'objects')),
    isFolder(shadows),
    isFolder(own),
    listOtherModules(commonDir, own),
  ])
  const folders = [commonDir, ...(gitDir === commonDir ? [] : [gitDir]), ...stores]
  return {
    mounts: [
      ...folders.map((target): Mount => ({ kind: 'ro', target })),
      ...[...(hasShadows ? [shadows] : []), ...hidden].map((target): Mount => ({ kind: 'tmpfs', target })),
      ...(hasOwn ? [{ kind: 'ro', target: own } as const, { kind: 'rw', target: common } as const] : []),
    ],
    folders: [...folders, ...(hasOwn ? [own, common] : [])],
  }
}

/**
 * The Git folders of submodules in which other agents in a sandbox can write. An agent can create a repository in its worktree that names
 * one of them: the process would read it, and its content would be in the diff.
 */
async function listOtherModules(commonDir: string, own: string): Promise<string[]> {
  const names = (await readdir(shadowsOf(commonDir)).catch(() => [])).filter(name => name !== basename(own))
  const modules = names.map(name => modulesOf({ gitDir: join(commonDir, 'worktrees', name) }))
  const present = await Promise.all(modules.map(isFolder))
  return modules.filter((_, index) => present[index]).toSorted()
}

const isFolder = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => undefined))?.isDirectory() === true

async function identityOf(path: string): Promise<string> {
  const stats = await lstat(path, { bigint: true }).catch(() => undefined)
  return stats ? `${stats.dev} ${stats.ino}` : ''
}
