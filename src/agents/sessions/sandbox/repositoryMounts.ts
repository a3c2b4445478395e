import { realpath } from 'node:fs/promises'
import { isWithin } from '../../../config/folders.ts'
import type { GitView } from '../../../worktrees/gitView.ts'
import type { BranchSync } from '../../../worktrees/syncBranch.ts'
import type { Mount } from '../../../sandbox/mount.ts'

/** A repository of the project other than the one that a session works in. */
export interface SandboxRepository {
  /** The repository's own folder, which can be read. */
  path: string
  /**
   * The card's worktree of the repository, which the session can change, and the session's view of Git there. Null if there is
   * none.
   */
  worktree: { path: string; openGit: () => Promise<GitView> } | null
}
/**
 * The session's mounts of a repository: its own folder, which is mounted first, and the worktree, which is mounted over everything else.
 */
export interface OpenedRepository {
  readable: Mount
  work: Mount[]
}

export async function openRepository(
  { path, worktree }: SandboxRepository,
  isReadOnly: boolean,
  open: (openGit: () => Promise<GitView>) => Promise<GitView>,
): Promise<OpenedRepository> {
  const readable: Mount = { kind: 'ro', target: await realpath(path).catch(() => path), isPlain: true }
  if (!worktree) return { readable, work: [] }
  const git = await open(worktree.openGit)
  const mounts: Mount[] = [{ kind: 'rw', target: worktree.path }, ...asPlain(git.mounts)]
  return { readable, work: isReadOnly ? withoutWriting(mounts, await realpath(worktree.path)) : mounts }
}

/** Mounts whose sources must not be links. */
export const asPlain = (mounts: readonly Mount[]): Mount[] => mounts.map(mount => ({ ...mount, isPlain: true }))

/** The mounts of a read-only working folder. The mounts of Git's files are unchanged. */
export const withoutWriting = (mounts: readonly Mount[], realWork: string): Mount[] =>
  mounts
    // A read-only folder needs no tmpfs mounts inside it.
    .filter(({ kind, target }) => kind !== 'tmpfs' || !isWithin(realWork, target))
    .map(mount =>
      mount.kind === 'rw' && isWithin(realWork, mount.source ?? realWork) ? { ...mount, kind: 'ro' } : mount,
    )

/** Takes over the commits of all repositories. A refusal in one repository does not affect the others. */
export async function takeAll(views: readonly GitView[]): Promise<BranchSync> {
  const taken: BranchSync[] = []
  for (const view of views) taken.push(await view.sync())
  const find = (state: BranchSync['state']) => taken.find(each => each.state === state)
  return find('refused') ?? find('moved') ?? { state: 'none' }
}
