import { mkdir, readFile, readdir, realpath, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { kindOf } from '../git/kindOf.ts'
import { listRefs } from '../git/listRefs.ts'
import { listAlternates } from '../git/alternates.ts'
import { projectFolderMounts } from '../git/projectFolderMounts.ts'
import { findRepository } from '../git/repository.ts'
import { withRepositoryLock } from '../git/repositoryLock.ts'
import {
  linkedWorktree,
  newRefsFile,
  placeShadow,
  readState,
  shadowOf,
  shadowsOf,
  shownRefsFile,
  storeName,
  tipOutside,
  transferPrefix,
  writeState,
  type LinkedWorktree,
  type Shadow,
  type ShadowState,
} from '../git/shadow.ts'
import type { Mount } from '../sandbox/mount.ts'
import type { ShadowUpdate } from './operations.ts'
import { syncBranch, syncLocked, type BranchSync } from './syncBranch.ts'
import type { Worktrees } from './worktrees.ts'

/** Longer than a transfer takes at most. */
const staleTransferMs = 60 * 60_000

/** How an agent sees its folder and Git. `mounts` make the folder writable; they come after those of what lies around it. */
export interface GitView {
  mounts: Mount[]
  /** Takes over the agent's commits: `syncBranch` for this folder. */
  sync(): Promise<BranchSync>
}

/**
 * Prepares what an agent in `folder` sees of Git. In a linked worktree that is a Git folder of its own: it reads the
 * repository's objects and writes its own, and has branches, tags, stash, index and configuration of which only `branch` (null:
 * the worktree's HEAD) comes out, by `sync`. In another working tree it is the repository itself, without what starts programs.
 * @throws Problem CONFLICT for a repository that cannot be shown so; GitFailed, or the file system's error
 */
export async function openGitView(worktrees: Worktrees, folder: string, branch: string | null): Promise<GitView> {
  const real = await realpath(folder)
  const worktree = (await linkedWorktree(real)) ?? (await projectFolder(real))
  if ('mounts' in worktree) return worktree
  if ((await kindOf(join(worktree.commonDir, 'reftable'))) !== 'nothing')
    throw new Problem('CONFLICT', 'The repository keeps its branches as a reftable, which cannot be used in a sandbox.')
  const mounts = await withRepositoryLock(worktree.commonDir, async () => {
    const known = await shadowOf(worktree)
    const opened = known ? await refresh(worktrees, known, branch) : await createShadow(worktrees, worktree, branch)
    return mountsOf(opened, real)
  })
  return { mounts, sync: () => syncBranch(worktrees, worktree.topLevel) }
}

/** The view of a folder that is not a linked worktree itself. It can be in one. */
async function projectFolder(folder: string): Promise<GitView | LinkedWorktree> {
  const repository = await findRepository(folder)
  const own: Mount = { kind: 'rw', source: folder, target: folder }
  if (!repository) return { mounts: [own], sync: async () => ({ state: 'none' }) }
  if (repository.gitDir !== repository.commonDir) {
    const worktree = await linkedWorktree(repository.topLevel)
    if (worktree) return worktree
  }
  const dropPlanted = () => rm(join(repository.commonDir, 'commondir'), { recursive: true, force: true })
  await dropPlanted()
  return {
    mounts: [own, ...(await projectFolderMounts(repository))],
    // Git would take it for a name of another Git folder, with hooks and configuration of its own. No mount can keep it away.
    sync: () => dropPlanted().then(() => ({ state: 'none' })),
  }
}

async function createShadow(
  worktrees: Worktrees,
  worktree: LinkedWorktree,
  branch: string | null,
): Promise<OpenedShadow> {
  const folder = join(shadowsOf(worktree.commonDir), basename(worktree.gitDir))
  const left = await readState(folder)
  if (left) await exportLast(worktrees, placeShadow(worktree, folder, left))
  await removeShadow(worktrees, placeShadow(worktree, folder, noState))
  const head = await readFile(join(worktree.gitDir, 'HEAD'), 'utf8')
  const state = { worktree: worktree.topLevel, branch, tip: null, head, copied: {} }
  const shadow = placeShadow(worktree, folder, state)
  await mkdir(shadow.common, { recursive: true, mode: 0o700 })
  shadow.state.tip = (await tipOutside(shadow)) ?? null
  return update(worktrees, shadow, { isNew: true, tip: shadow.state.tip ?? undefined, head: undefined })
}

/** Brings a shadow up to date with the repository. Commits that could not be taken over stay. */
async function refresh(worktrees: Worktrees, shadow: Shadow, branch: string | null): Promise<OpenedShadow> {
  const { state } = shadow
  const { state: result } = await syncLocked(worktrees, shadow)
  const isSwitched = branch !== state.branch
  state.branch = branch
  const [head, tip] = await Promise.all([readFile(join(shadow.gitDir, 'HEAD'), 'utf8'), tipOutside(shadow)])
  const isHeadMoved = branch !== null && head !== state.head
  const isMoved = isSwitched || isHeadMoved
  state.head = head
  if (tip !== undefined && isMoved) await worktrees.run('importTip', { worktree: shadow, tip })
  if (tip !== undefined && (isSwitched || result !== 'refused')) state.tip = tip
  const shown = result !== 'refused' || isSwitched ? tip : undefined
  await dropStaleTransfers(shadow)
  return update(worktrees, shadow, { isNew: false, tip: shown, head: isMoved ? head : undefined })
}

/** A shadow that is up to date, and whether its worktree has submodules. */
interface OpenedShadow {
  shadow: Shadow
  hasSubmodules: boolean
}

async function update(
  worktrees: Worktrees,
  shadow: Shadow,
  change: Omit<ShadowUpdate, 'mountPoints'>,
): Promise<OpenedShadow> {
  const mountPoints = await foldersOf(shadow.commonDir)
  await writeFile(newRefsFile(shadow), await listRefs(shadow.commonDir), { mode: 0o600 })
  const input = { worktree: shadow, update: { ...change, mountPoints } }
  const { copied, hasSubmodules } = await (change.isNew
    ? worktrees.prepare('updateShadow', input)
    : worktrees.run('updateShadow', input))
  await rename(newRefsFile(shadow), shownRefsFile(shadow))
  shadow.state.copied = copied
  await writeState(shadow.folder, shadow.state)
  return { shadow, hasSubmodules }
}

/** The folders of a repository's Git folder that agents read there. */
async function foldersOf(commonDir: string): Promise<string[]> {
  const names = ['hooks', 'modules', 'lfs']
  const present = await Promise.all(names.map(name => isFolder(join(commonDir, name))))
  return names.filter((_, at) => present[at])
}

/** Removes folders of transfers that a server left behind when it was killed. */
async function dropStaleTransfers({ folder }: Shadow): Promise<void> {
  for (const name of (await readdir(folder)).filter(each => each.startsWith(transferPrefix)))
    if (Date.now() - (await stat(join(folder, name))).mtimeMs > staleTransferMs)
      await rm(join(folder, name), { recursive: true, force: true })
}

async function mountsOf({ shadow, hasSubmodules }: OpenedShadow, folder: string): Promise<Mount[]> {
  const { topLevel, gitDir, commonDir, common } = shadow
  const objects = join(commonDir, 'objects')
  const modules = join(gitDir, 'modules')
  if (hasSubmodules) await mkdir(modules, { recursive: true })
  const [stores, readable] = await Promise.all([listAlternates(objects), foldersOf(commonDir)])
  const fixed = [join(gitDir, 'commondir'), join(gitDir, 'gitdir'), join(topLevel, '.git')]
  const readOnly = [...stores, ...readable.map(name => join(commonDir, name))]
  return [
    { kind: 'rw', source: common, target: commonDir },
    { kind: 'ro', source: objects, target: join(commonDir, storeName) },
    ...readOnly.map((path): Mount => ({ kind: 'ro', source: path, target: path })),
    ...(hasSubmodules ? [{ kind: 'rw', source: modules, target: modules } as const] : []),
    { kind: 'rw', source: folder, target: folder },
    ...fixed.map((path): Mount => ({ kind: 'ro', source: path, target: path })),
  ]
}

const isFolder = async (path: string) => (await stat(path).catch(() => undefined))?.isDirectory() === true

/**
 * Removes the shadow of a worktree that is about to be removed, and those whose worktree the repository no longer has. Takes
 * over their commits first. Requires the repository's lock.
 */
export async function dropShadows(worktrees: Worktrees, commonDir: string, worktreePath: string): Promise<void> {
  const shadows = shadowsOf(commonDir)
  for (const name of await readdir(shadows).catch(() => [])) {
    const [folder, gitDir] = [join(shadows, name), join(commonDir, 'worktrees', name)]
    const [state, kind] = await Promise.all([readState(folder), kindOf(gitDir)])
    if (state && kind === 'folder' && state.worktree !== worktreePath) continue
    const shadow = placeShadow({ topLevel: worktreePath, gitDir, commonDir }, folder, state ?? noState)
    if (state && kind === 'folder') await exportLast(worktrees, shadow)
    await removeShadow(worktrees, shadow)
  }
}

const noState: ShadowState = { worktree: '', branch: null, tip: null, head: '', copied: {} }

const exportLast = (worktrees: Worktrees, shadow: Shadow) =>
  syncLocked(worktrees, shadow).catch(() => {
    /* Commits that Git cannot read are lost with the folder. */
  })

/** Removes a shadow: first what the agent could write, inside. */
async function removeShadow(worktrees: Worktrees, shadow: Shadow): Promise<void> {
  if ((await kindOf(shadow.common)) === 'folder') {
    await worktrees.run('clearShadow', { worktree: shadow })
    await rmdir(shadow.common)
  }
  await rm(shadow.folder, { recursive: true, force: true })
}
