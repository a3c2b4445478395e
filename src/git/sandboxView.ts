import { cp, lstat, mkdir, readFile, readdir, realpath, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { Problem } from '../contract/errors.ts'
import type { Mount } from '../sandbox/mount.ts'
import { kindOf } from './changes.ts'
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
import { refreshRefs } from './shadowRefs.ts'
import { inFolder, writeUntrusted } from './untrustedFiles.ts'

/** Where the repository's objects are for an agent: beside its own, so that relative names of further stores hold. */
const storeName = 'board-objects'
const maxStores = 16
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
    await dropUnfinished(worktree.commonDir)
    const shadow = (await shadowOf(worktree)) ?? (await makeShadow(worktree, branch))
    await refresh(shadow, branch)
    return mountsOf(shadow, real)
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
  const shadow = placeShadow(worktree, unfinished, {
    worktree: worktree.topLevel,
    branch,
    tip: null,
    head: await readFile(join(worktree.gitDir, 'HEAD'), 'utf8'),
    copied: {},
  })
  for (const part of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'logs', 'worktrees'])
    await mkdir(join(shadow.common, part), { recursive: true, mode: 0o700 })
  await writeFile(join(shadow.common, 'objects/info/alternates'), `../${storeName}\n`)
  // Submodules have repositories of their own there, which stay where they are.
  const taken = async (path: string) => {
    const kind = await kindOf(path)
    return kind === 'folder' ? path !== join(worktree.gitDir, 'modules') : kind === 'file' && !path.endsWith('.lock')
  }
  await cp(worktree.gitDir, join(shadow.common, shadow.admin), {
    recursive: true,
    preserveTimestamps: true,
    filter: taken,
  })
  await writeState(unfinished, shadow.state)
  await rename(unfinished, folder)
  return placeShadow(worktree, folder, shadow.state)
}

/** Brings a shadow up to what the repository is at now. Work that did not come out stays. */
async function refresh(shadow: Shadow, branch: string | null): Promise<void> {
  const { gitDir, common, admin, state } = shadow
  const { state: result } = await syncLocked(shadow)
  const head = await readFile(join(gitDir, 'HEAD'), 'utf8')
  const [isSwitched, isHeadMoved] = [branch !== state.branch, branch !== null && head !== state.head]
  Object.assign(state, { branch, head })
  const tip = await tipOutside(shadow)
  if (isSwitched || isHeadMoved) await writeUntrusted(common, `${admin}/HEAD`, head)
  if (tip !== undefined && (isSwitched || isHeadMoved)) await bringIn(shadow, tip)
  if (tip !== undefined && (isSwitched || result !== 'refused')) state.tip = tip
  await copyFiles(shadow)
  await refreshRefs(shadow, result !== 'refused' || isSwitched ? tip : undefined)
  await dropStale(shadow)
  await writeState(shadow.folder, state)
}

/** Gives the shadow the repository's small files as they are now. What the agent makes of them is its own. */
async function copyFiles({ commonDir, gitDir, common, admin, state }: Shadow): Promise<void> {
  const files = [
    ...['HEAD', 'config', 'config.worktree', 'shallow'].map(name => [commonDir, '.', name] as const),
    ...['exclude', 'attributes', 'sparse-checkout'].map(name => [join(commonDir, 'info'), 'info', name] as const),
    [gitDir, admin, 'config.worktree'] as const,
  ]
  for (const [from, to, name] of files) {
    const path = join(from, name)
    const stats = await stat(path).catch(() => undefined)
    const stamp = stats ? `${stats.ino} ${stats.size} ${stats.mtimeMs}` : ''
    if ((state.copied[`${to}/${name}`] ?? '') === stamp) continue
    state.copied[`${to}/${name}`] = stamp
    if (stats) await writeUntrusted(common, `${to}/${name}`, await readFile(path, 'utf8'))
    else await inFolder(common, to, folder => rm(`${folder}/${name}`, { force: true }), true)
  }
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
  const store = join(commonDir, storeName)
  const mounts: Mount[] = [
    { kind: 'rw', source: common, target: commonDir },
    { kind: 'ro', source: join(commonDir, 'objects'), target: store },
  ]
  await inFolder(common, storeName, async () => {}, true)
  for (const path of await furtherStores(join(commonDir, 'objects')))
    mounts.push({ kind: 'ro', source: path, target: path })
  for (const name of ['hooks', 'modules', 'lfs'])
    if (await isFolder(join(commonDir, name))) {
      await inFolder(common, name, async () => {}, true)
      mounts.push({ kind: 'ro', source: join(commonDir, name), target: join(commonDir, name) })
    }
  if ((await kindOf(join(topLevel, '.gitmodules'))) === 'file') {
    const modules = join(gitDir, 'modules')
    await mkdir(modules, { recursive: true })
    await inFolder(common, `${admin}/modules`, async () => {}, true)
    mounts.push({ kind: 'rw', source: modules, target: modules })
  }
  const fixed = [join(gitDir, 'commondir'), join(gitDir, 'gitdir'), join(topLevel, '.git')]
  return [
    ...mounts,
    { kind: 'rw', source: folder, target: folder },
    ...fixed.map((path): Mount => ({ kind: 'ro', source: path, target: path })),
  ]
}

const isFolder = async (path: string) => (await stat(path).catch(() => undefined))?.isDirectory() === true

/** The stores that the repository itself borrows objects from. */
async function furtherStores(objects: string): Promise<string[]> {
  const found: string[] = []
  for (const waiting = [objects]; waiting.length > 0 && found.length < maxStores;) {
    const store = waiting.shift()!
    const lines = await readFile(join(store, 'info/alternates'), 'utf8').catch(() => '')
    for (const line of lines.split('\n').filter(each => each !== '' && !each.startsWith('#'))) {
      const path = await realpath(resolve(store, line)).catch(() => undefined)
      if (path === undefined || found.includes(path)) continue
      found.push(path)
      waiting.push(path)
    }
  }
  return found
}

/**
 * Removes the shadow of a worktree that goes, and those whose worktree the repository no longer has; what was committed there
 * comes out first. With the repository's lock held.
 */
export async function dropShadows(commonDir: string, worktreePath: string): Promise<void> {
  const shadows = shadowsOf(commonDir)
  for (const name of await readdir(shadows).catch(() => [])) {
    const [folder, gitDir] = [join(shadows, name), join(commonDir, 'worktrees', name)]
    const state = await readState(folder)
    const isListed = (await kindOf(gitDir)) === 'folder'
    if (state && isListed && state.worktree !== worktreePath) continue
    if (state && isListed) await bringOut({ topLevel: worktreePath, gitDir, commonDir }, folder, state)
    await removeFolder(folder)
  }
}

const bringOut = (worktree: LinkedWorktree, folder: string, state: ShadowState) =>
  syncLocked(placeShadow(worktree, folder, state)).catch(() => {
    /* What Git cannot read is lost with the folder. */
  })
