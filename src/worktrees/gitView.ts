import { mkdir, readFile, readdir, realpath, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isWithin } from '../config/folders.ts'
import { Problem } from '../contract/errors.ts'
import { readAccountSettings } from '../git/accountSettings.ts'
import { signsCommits } from '../git/identity.ts'
import { kindOf } from '../git/kindOf.ts'
import { listRefs } from '../git/listRefs.ts'
import { listAlternates } from '../git/alternates.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { withRepositoryLock } from '../git/repositoryLock.ts'
import {
  accountFolder,
  mainShadow,
  newRefsFile,
  placeShadow,
  readState,
  shadowFolder,
  shadowOf,
  shadowsOf,
  shownRefsFile,
  storeName,
  storeParts,
  tipOutside,
  transferPrefix,
  writeState,
  type Shadow,
  type ShadowState,
} from '../git/shadow.ts'
import { modulesOf } from '../git/submodules.ts'
import { isMain, type Repository, type WorkingTree } from '../git/workingTrees.ts'
import type { Mount } from '../sandbox/mount.ts'
import { worktreeOf } from './findWorktree.ts'
import { openGitGuard } from './gitGuard.ts'
import type { ShadowUpdate } from './operations.ts'
import { syncBranch, syncLocked, type BranchSync } from './syncBranch.ts'
import type { Worktrees } from './worktrees.ts'

/** Longer than any transfer. */
const staleTransferMs = 60 * 60_000

/** An agent's view of its folder and Git. `mounts` make the folder writable. They follow the mounts of the folders around it. */
export interface GitView {
  mounts: Mount[]
  variables: Record<string, string>
  /** A note for users before the agent starts. Null if there is none. */
  remark: string | null
  /** Takes over the agent's commits: `syncBranch` for this folder. */
  sync(): Promise<BranchSync>
  /** Removes the files behind the mounts, after the end of all processes that see them. */
  close(): Promise<void>
}

/**
 * The folder of a card, and the branch whose commits are taken over. Without a worktree, the card works in the project's folder.
 */
export interface GitPlace {
  project: ProjectFolder
  worktreePath: string | null
  branch: string | null
}

/**
 * Prepares an agent's view of Git in a card's folder: a separate Git folder with its own objects, branches, tags, stash, index and
 * configuration. The agent can also read the repository's objects. `sync` takes over only the card's branch or, if it is null, the HEAD of
 * the worktree. In a folder without a repository, the agent cannot create one.
 * @throws Problem CONFLICT for a repository that does not support this; GitFailed, or the file system's error
 */
export async function openGitView(worktrees: Worktrees, place: GitPlace): Promise<GitView> {
  const { project, worktreePath } = place
  const repository = await findProjectRepository(project)
  if (worktreePath === null) return openProjectFolder(worktrees, await realpath(project.path), repository)
  const worktree = repository && (await worktreeOf(repository, worktreePath))
  if (!worktree) throw new Problem('CONFLICT', "The card's worktree no longer belongs to the project's repository.")
  return openView(worktrees, worktree, worktree.topLevel, place.branch)
}

/** The project's folder can be a part of its working tree. */
async function openProjectFolder(
  worktrees: Worktrees,
  folder: string,
  repository: Repository | undefined,
): Promise<GitView> {
  const { mounts, variables, remark, sync, close } = repository
    ? await openView(worktrees, repository, folder, repository.branch ?? null)
    : withoutRepository(folder)
  const guard = repository?.topLevel === folder ? undefined : openGitGuard(folder)
  return {
    mounts: [...mounts, ...(guard ? [guard.mount] : [])],
    variables,
    remark,
    sync,
    close: async () => {
      await guard?.close()
      await close()
    },
  }
}

const withoutRepository = (folder: string): GitView => ({
  mounts: [{ kind: 'rw', target: folder }],
  variables: {},
  remark: null,
  sync: async () => ({ state: 'none' }),
  close: async () => {},
})

async function openView(
  worktrees: Worktrees,
  worktree: WorkingTree,
  folder: string,
  branch: string | null,
): Promise<GitView> {
  if ((await kindOf(join(worktree.commonDir, 'reftable'))) !== 'nothing')
    throw new Problem(
      'CONFLICT',
      'The repository stores its branches in the reftable format, which the sandbox does not support.',
    )
  if ((await kindOf(join(worktree.topLevel, '.git'))) === 'link')
    throw new Problem('CONFLICT', `${join(worktree.topLevel, '.git')} is a link, which is not supported in a sandbox.`)
  const isSigning = await signsCommits(worktree)
  const { openViews } = worktrees
  const views = () => openViews.get(worktree.gitDir) ?? 0
  const mounts = await withRepositoryLock(worktree.commonDir, async () => {
    const known = await shadowOf(worktree)
    const found = await mountsOf(
      await (known ? refresh(worktrees, known, branch) : createShadow(worktrees, worktree, branch)),
      folder,
    )
    openViews.set(worktree.gitDir, views() + 1)
    return found
  })
  return {
    mounts,
    variables: {
      GIT_CONFIG_SYSTEM: join(worktree.commonDir, accountFolder, 'config'),
      ...(isSigning && withoutSignatures),
    },
    remark: isSigning ? noSignatures : null,
    sync: () => syncBranch(worktrees, worktree),
    close: () =>
      withRepositoryLock(worktree.commonDir, async () => {
        openViews.set(worktree.gitDir, views() - 1)
        if (views() > 0) return
        openViews.delete(worktree.gitDir)
        // Git does not remove a worktree that has a `modules` folder, so an empty one is removed here.
        if (!isMain(worktree)) await rmdir(modulesOf(worktree)).catch(() => {})
      }),
  }
}

const noSignatures =
  'The Git configuration signs commits (commit.gpgSign). The signing key is not available in the sandbox, so commits of the agent have no signature. The board signs its own commits.'
/** Overrides the repository's settings for signatures, because each commit would fail with them. */
const withoutSignatures = {
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'commit.gpgSign',
  GIT_CONFIG_VALUE_0: 'false',
  GIT_CONFIG_KEY_1: 'tag.gpgSign',
  GIT_CONFIG_VALUE_1: 'false',
}

async function createShadow(worktrees: Worktrees, worktree: WorkingTree, branch: string | null): Promise<Shadow> {
  const folder = shadowFolder(worktree)
  const left = await readState(folder)
  if (left) await exportLast(worktrees, placeShadow(worktree, folder, left))
  await removeShadow(worktrees, placeShadow(worktree, folder, noState))
  const head = await readFile(join(worktree.gitDir, 'HEAD'), 'utf8')
  const state = { worktree: worktree.topLevel, branch, tip: null, head, copied: {} }
  const shadow = placeShadow(worktree, folder, state)
  await mkdir(preparedCommon(shadow), { recursive: true, mode: 0o700 })
  shadow.state.tip = (await tipOutside(shadow)) ?? null
  return update(worktrees, shadow, { isNew: true, tip: shadow.state.tip ?? undefined, head: undefined })
}

/**
 * The folder where a new shadow is prepared. The project's folder can have files of agents, so a process prepares its shadow
 * in place.
 */
const preparedCommon = (shadow: Shadow): string => (isMain(shadow) ? shadow.common : `${shadow.common}.new`)

/** Brings a shadow up to date with the repository. Commits that could not be taken over stay. */
async function refresh(worktrees: Worktrees, shadow: Shadow, branch: string | null): Promise<Shadow> {
  const { state } = shadow
  const { state: result } = await syncLocked(worktrees, shadow)
  const isSwitched = branch !== state.branch
  state.branch = branch
  const [head, tip] = await Promise.all([readFile(join(shadow.gitDir, 'HEAD'), 'utf8'), tipOutside(shadow)])
  const isHeadMoved = branch !== null && head !== state.head
  const isMoved = isSwitched || isHeadMoved
  state.head = head
  if (isMoved) await worktrees.run('importTip', { worktree: shadow, tip: tip ?? null })
  if (isSwitched || (tip !== undefined && result !== 'refused')) state.tip = tip ?? null
  const shown = result !== 'refused' || isSwitched ? tip : undefined
  await dropStaleTransfers(shadow)
  return update(worktrees, shadow, { isNew: false, tip: shown, head: isMoved ? head : undefined })
}

async function update(
  worktrees: Worktrees,
  shadow: Shadow,
  change: Omit<ShadowUpdate, 'mountPoints' | 'account'>,
): Promise<Shadow> {
  const [mountPoints, account] = await Promise.all([foldersOf(shadow.commonDir), readAccountSettings(shadow)])
  await writeFile(newRefsFile(shadow), await listRefs(shadow.commonDir), { mode: 0o600 })
  const common = change.isNew ? preparedCommon(shadow) : shadow.common
  const input = { worktree: { ...shadow, common }, update: { ...change, mountPoints, account } }
  // `prepare` is safe here: no agent has written to a new worktree, and no agent sees the new Git folder before it is renamed.
  const copied = await worktrees[common === shadow.common ? 'run' : 'prepare']('updateShadow', input)
  if (common !== shadow.common) await rename(common, shadow.common)
  await rename(newRefsFile(shadow), shownRefsFile(shadow))
  shadow.state.copied = copied
  await writeState(shadow.folder, shadow.state)
  return shadow
}

/** The folders of a repository's Git folder that agents read there. */
const foldersOf = (commonDir: string): Promise<string[]> => presentIn(commonDir, ['hooks', 'modules'])

async function presentIn(folder: string, names: readonly string[]): Promise<string[]> {
  const present = await Promise.all(names.map(name => isFolder(join(folder, name))))
  return names.filter((_, at) => present[at])
}

/** Removes folders of transfers that a server left behind when it was killed. */
async function dropStaleTransfers({ folder }: Shadow): Promise<void> {
  for (const name of (await readdir(folder)).filter(each => each.startsWith(transferPrefix)))
    if (Date.now() - (await stat(join(folder, name))).mtimeMs > staleTransferMs)
      await rm(join(folder, name), { recursive: true, force: true })
}

async function mountsOf(shadow: Shadow, folder: string): Promise<Mount[]> {
  const { commonDir, common } = shadow
  if (!isMain(shadow)) await mkdir(modulesOf(shadow), { recursive: true })
  const [stores, readable, storeFolders] = await Promise.all([
    listAlternates(join(commonDir, 'objects')),
    foldersOf(commonDir),
    presentIn(commonDir, storeParts),
  ])
  const readOnly = [...stores, ...readable.map(name => join(commonDir, name))]
  const own: Mount = { kind: 'rw', target: folder }
  // The mount of a folder hides earlier mounts inside it.
  const hasGitInside = isWithin(folder, commonDir)
  return [
    ...(hasGitInside ? [own] : []),
    { kind: 'rw', source: common, target: commonDir },
    ...storeFolders.map((part): Mount => ({
      kind: 'ro',
      source: join(commonDir, part),
      target: join(commonDir, storeName, part),
    })),
    ...readOnly.map((target): Mount => ({ kind: 'ro', target })),
    ...(isMain(shadow) ? [] : [{ kind: 'rw', target: modulesOf(shadow) } as const]),
    ...(hasGitInside ? [] : [own]),
    ...(await pointersOf(shadow)).map((target): Mount => ({ kind: 'ro', target })),
  ]
}

/** The files by which Git finds a worktree's Git folder. */
async function pointersOf(tree: WorkingTree): Promise<string[]> {
  const { topLevel, gitDir } = tree
  const pointer = join(topLevel, '.git')
  if (!isMain(tree)) return [join(gitDir, 'commondir'), join(gitDir, 'gitdir'), pointer]
  // A submodule, or a repository with a separate Git folder.
  return (await kindOf(pointer)) === 'file' ? [pointer] : []
}

const isFolder = async (path: string) => (await stat(path).catch(() => undefined))?.isDirectory() === true

/**
 * Removes the shadow of a worktree that is about to be removed, and the shadows of worktrees that the repository no longer has. Takes over
 * their commits first. Requires the repository's lock.
 */
export async function dropShadows(worktrees: Worktrees, commonDir: string, worktreePath: string): Promise<void> {
  const shadows = shadowsOf(commonDir)
  for (const name of await readdir(shadows).catch(() => [])) {
    if (name === mainShadow) continue
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

/** Removes a shadow. The files that the agent could write are removed first, in the sandbox. */
async function removeShadow(worktrees: Worktrees, shadow: Shadow): Promise<void> {
  if ((await kindOf(shadow.common)) === 'folder') {
    await worktrees.run('clearShadow', { worktree: shadow })
    await rmdir(shadow.common)
  }
  await rm(shadow.folder, { recursive: true, force: true })
}
