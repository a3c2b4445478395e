import { realpath } from 'node:fs/promises'
import { isWithin } from '../../config/folders.ts'
import type { GitView } from '../../worktrees/gitView.ts'
import type { BranchSync } from '../../worktrees/syncBranch.ts'
import type { Mount } from '../../sandbox/mount.ts'

/** A repository beside the one that a session works in. */
export interface WalledRepository {
  /** Its own folder, which can be read. */
  path: string
  /** The card's worktree of it, which the session may change, and what it sees of Git there; null where there is none. */
  worktree: { path: string; openGit: () => Promise<GitView> } | null
}
/** What a session sees of it: its own folder first, and over everything else the worktree. */
export interface OpenedRepository {
  readable: Mount
  work: Mount[]
}

export async function openRepository(
  { path, worktree }: WalledRepository,
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

/** The mounts of a folder to work in where nothing of it may change; Git's own part of it is as it was. */
export const withoutWriting = (mounts: readonly Mount[], realWork: string): Mount[] =>
  mounts
    // Where nothing can be written, nothing needs to be covered.
    .filter(({ kind, target }) => kind !== 'tmpfs' || !isWithin(realWork, target))
    .map(mount =>
      mount.kind === 'rw' && isWithin(realWork, mount.source ?? realWork) ? { ...mount, kind: 'ro' } : mount,
    )

/** Takes over what was committed in all of them. What one refuses keeps no other from it. */
export async function takeAll(views: readonly GitView[]): Promise<BranchSync> {
  const taken: BranchSync[] = []
  for (const view of views) taken.push(await view.sync())
  const find = (state: BranchSync['state']) => taken.find(each => each.state === state)
  return find('refused') ?? find('moved') ?? { state: 'none' }
}
