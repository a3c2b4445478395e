import { lstat, mkdir, readFile, readdir, realpath, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import type { Mount } from '../sandbox/mount.ts'
import { listAlternates } from './alternates.ts'
import { kindOf } from './changes.ts'
import { copyWorktreePart } from './gitFolder.ts'
import { projectFolderMounts } from './projectFolderMounts.ts'
import { removeFolder } from './removeFolder.ts'
import { findRepository } from './repository.ts'
import { withRepositoryLock } from './repositoryLock.ts'
import { bringIn, syncBranch, syncLocked, type BranchSync } from './syncBranch.ts'
import {
  linkedWorktree,
  placeShadow,
  readState,
  shadowOf,
  shadowsOf,
  tipOutside,
  writeState,
  type LinkedWorktree,
  type Shadow,
  type ShadowState,
} from './shadow.ts'
import { transferPrefix } from './shadowObjects.ts'
import { listRefs, putRefs, refreshRefs } from './shadowRefs.ts'
import { inFolder, replaceIn, writeUntrusted } from './untrustedFiles.ts'

/** Where the repository's objects are for an agent: beside its own, so that relative names of further stores hold. */
const storeName = 'board-objects'
const staleLockMs = 60_000
/** Longer than a transfer takes at most. */
const staleTransferMs = 60 * 60_000
const unfinishedEnding = '.unfinished'

/** How an agent sees its folder and Git. `mounts` make the folder writable; they come after those of what lies around it. */
export interface GitView {
  mounts: Mount[]
  /** What `syncBranch` does for this folder. */
  sync(): Promise<BranchSync>
}

/**
 * Prepares what an agent in `folder` sees of Git. In a linked worktree that is a Git folder of its own: it reads the
 * repository's objects and writes its own, and has branches, tags, stash, index and configuration of which only `branch` (null:
 * the worktree's HEAD) comes out, by `sync`. In another working tree it is the repository itself, without what starts programs.
 * @throws Problem CONFLICT for a repository that cannot be shown so; GitFailed, or the file system's error
 */
export async function openGitView(folder: string, branch: string | null): Promise<GitView> {
  const real = await realpath(folder)
  const worktree = (await linkedWorktree(real)) ?? (await projectFolder(real))
  if ('mounts' in worktree) return worktree
  if ((await kindOf(join(worktree.commonDir, 'reftable'))) !== 'nothing')
    throw new Problem('CONFLICT', 'The repository keeps its branches as a reftable, which cannot be walled in.')
  const mounts = await withRepositoryLock(worktree.commonDir, async () => {
    const [known] = await Promise.all([shadowOf(worktree), dropUnfinished(worktree.commonDir)])
    return mountsOf(known ? await refresh(known, branch) : await makeShadow(worktree, branch), real)
  })
  return { mounts, sync: () => syncBranch(worktree.topLevel) }
}

/** The view of a folder that is no linked worktree itself; it may lie in one. */
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

async function makeShadow(worktree: LinkedWorktree, branch: string | null): Promise<Shadow> {
  const folder = join(shadowsOf(worktree.commonDir), basename(worktree.gitDir))
  const unfinished = folder + unfinishedEnding
  const left = await readState(folder)
  if (left) await bringOut(worktree, folder, left)
  await removeFolder(folder)
  const head = await readFile(join(worktree.gitDir, 'HEAD'), 'utf8')
  const state = { worktree: worktree.topLevel, branch, tip: null, head, copied: {} }
  const shadow = placeShadow(worktree, unfinished, state)
  const [tip, refs] = await Promise.all([tipOutside(shadow), listRefs(worktree.commonDir), fill(shadow)])
  shadow.state.tip = tip ?? null
  await Promise.all([copyFiles(shadow), putRefs(shadow, refs, tip)])
  await writeState(unfinished, shadow.state)
  await rename(unfinished, folder)
  return placeShadow(worktree, folder, shadow.state)
}

/** Makes a Git folder without refs, with what is the worktree's own part of the repository's. */
async function fill({ gitDir, common, admin }: Shadow): Promise<void> {
  const parts = ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'logs', 'worktrees']
  await Promise.all(parts.map(part => mkdir(join(common, part), { recursive: true, mode: 0o700 })))
  await Promise.all([
    writeFile(join(common, 'objects/info/alternates'), `../${storeName}\n`),
    copyWorktreePart(gitDir, join(common, admin)),
  ])
}

/** Brings a shadow up to what the repository is at now. Work that did not come out stays. */
async function refresh(shadow: Shadow, branch: string | null): Promise<Shadow> {
  const { gitDir, common, admin, state } = shadow
  const [{ state: result }, refs] = await Promise.all([syncLocked(shadow), listRefs(shadow.commonDir)])
  const isSwitched = branch !== state.branch
  state.branch = branch
  const [head, tip] = await Promise.all([readFile(join(gitDir, 'HEAD'), 'utf8'), tipOutside(shadow)])
  const isHeadMoved = branch !== null && head !== state.head
  state.head = head
  if (isSwitched || isHeadMoved) await writeUntrusted(common, `${admin}/HEAD`, head)
  if (tip !== undefined && (isSwitched || isHeadMoved)) await bringIn(shadow, tip)
  if (tip !== undefined && (isSwitched || result !== 'refused')) state.tip = tip
  const shown = result !== 'refused' || isSwitched ? tip : undefined
  await Promise.all([copyFiles(shadow), refreshRefs(shadow, refs, shown), dropStale(shadow)])
  await writeState(shadow.folder, state)
  return shadow
}

/** Gives the shadow the repository's small files as they are now. What the agent makes of them is its own. */
async function copyFiles({ commonDir, gitDir, common, admin, state }: Shadow): Promise<void> {
  const folders = [
    { from: commonDir, to: '.', names: ['HEAD', 'config', 'config.worktree', 'shallow'] },
    { from: join(commonDir, 'info'), to: 'info', names: ['exclude', 'attributes', 'sparse-checkout'] },
    { from: gitDir, to: admin, names: ['config.worktree'] },
  ]
  const copy = async ({ from, to, names }: (typeof folders)[number]) => {
    const found = await Promise.all(
      names.map(async name => ({ name, stats: await stat(join(from, name)).catch(() => undefined) })),
    )
    const changed = found
      .map(each => ({ ...each, stamp: each.stats ? `${each.stats.ino} ${each.stats.size} ${each.stats.mtimeMs}` : '' }))
      .filter(({ name, stamp }) => (state.copied[`${to}/${name}`] ?? '') !== stamp)
    if (changed.length === 0) return
    const replace = (folder: string) =>
      Promise.all(
        changed.map(async ({ name, stats }) => {
          if (!stats) return rm(`${folder}/${name}`, { force: true })
          const text = await readFile(join(from, name), 'utf8')
          return replaceIn(folder, name, file => writeFile(file, text, { flag: 'wx', mode: 0o600 }))
        }),
      )
    await inFolder(common, to, replace, true)
    for (const { name, stamp } of changed) state.copied[`${to}/${name}`] = stamp
  }
  await Promise.all(folders.map(copy))
}

/** Removes what a server that was killed has begun. With the repository's lock held nobody else is at it. */
async function dropUnfinished(commonDir: string): Promise<void> {
  const names = await readdir(shadowsOf(commonDir)).catch(() => [])
  for (const name of names.filter(each => each.endsWith(unfinishedEnding)))
    await removeFolder(join(shadowsOf(commonDir), name))
}

/** Removes what a Git or a server that was killed has left behind. */
async function dropStale({ folder: own, common, admin }: Shadow): Promise<void> {
  for (const name of (await readdir(own)).filter(each => each.startsWith(transferPrefix)))
    if (Date.now() - (await stat(join(own, name))).mtimeMs > staleTransferMs) await removeFolder(join(own, name))
  for (const folder of ['.', admin])
    await inFolder(common, folder, async at => {
      for (const name of (await readdir(at)).filter(each => each.endsWith('.lock') || each === 'gc.pid')) {
        const stats = await lstat(`${at}/${name}`).catch(() => undefined)
        if (stats && !stats.isDirectory() && Date.now() - stats.mtimeMs > staleLockMs) await unlink(`${at}/${name}`)
      }
    })
}

async function mountsOf({ topLevel, gitDir, commonDir, common, admin }: Shadow, folder: string): Promise<Mount[]> {
  const objects = join(commonDir, 'objects')
  const readable = async (name: string): Promise<Mount[]> => {
    const path = join(commonDir, name)
    if (!(await isFolder(path))) return []
    await inFolder(common, name, async () => {}, true)
    return [{ kind: 'ro', source: path, target: path }]
  }
  const submodules = async (): Promise<Mount[]> => {
    if ((await kindOf(join(topLevel, '.gitmodules'))) !== 'file') return []
    const modules = join(gitDir, 'modules')
    await mkdir(modules, { recursive: true })
    await inFolder(common, `${admin}/modules`, async () => {}, true)
    return [{ kind: 'rw', source: modules, target: modules }]
  }
  const [stores, ...further] = await Promise.all([
    listAlternates(objects),
    ...['hooks', 'modules', 'lfs'].map(readable),
    submodules(),
    inFolder(common, storeName, async () => [], true),
  ])
  const fixed = [join(gitDir, 'commondir'), join(gitDir, 'gitdir'), join(topLevel, '.git')]
  return [
    { kind: 'rw', source: common, target: commonDir },
    { kind: 'ro', source: objects, target: join(commonDir, storeName) },
    ...stores.map((path): Mount => ({ kind: 'ro', source: path, target: path })),
    ...further.flat(),
    { kind: 'rw', source: folder, target: folder },
    ...fixed.map((path): Mount => ({ kind: 'ro', source: path, target: path })),
  ]
}

const isFolder = async (path: string) => (await stat(path).catch(() => undefined))?.isDirectory() === true

/**
 * Removes the shadow of a worktree that goes, and those whose worktree the repository no longer has; what was committed there
 * comes out first. With the repository's lock held.
 */
export async function dropShadows(commonDir: string, worktreePath: string): Promise<void> {
  const shadows = shadowsOf(commonDir)
  const names = await readdir(shadows).catch(() => [])
  const look = async (name: string) => {
    const [folder, gitDir] = [join(shadows, name), join(commonDir, 'worktrees', name)]
    const [state, kind] = await Promise.all([readState(folder), kindOf(gitDir)])
    return { folder, gitDir, state, isListed: kind === 'folder' }
  }
  for (const { folder, gitDir, state, isListed } of await Promise.all(names.map(look))) {
    if (state && isListed && state.worktree !== worktreePath) continue
    if (state && isListed) await bringOut({ topLevel: worktreePath, gitDir, commonDir }, folder, state)
    await removeFolder(folder)
  }
}

const bringOut = (worktree: LinkedWorktree, folder: string, state: ShadowState) =>
  syncLocked(placeShadow(worktree, folder, state)).catch(() => {
    /* What Git cannot read is lost with the folder. */
  })
