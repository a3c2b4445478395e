import { readFile, rename, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { readUntrusted } from './untrustedFiles.ts'
import { isMain, listWorkingTrees, type WorkingTree } from './workingTrees.ts'

const maxRefBytes = 1024
const maxPackedRefsBytes = 256 * 1024 * 1024

/**
 * The private Git folder of an agent in a working tree, which replaces the repository's Git folder. Only the server can access `folder`;
 * the agent controls everything in `common`. `admin` is the worktree's own part, below `common`.
 */
export interface Shadow extends WorkingTree {
  folder: string
  common: string
  admin: string
  state: ShadowState
}

/** The common state of the repository and the shadow at their last comparison. */
export interface ShadowState {
  worktree: string
  /** The branch that is taken over. Null if the worktree's detached HEAD is taken over instead. */
  branch: string | null
  tip: string | null
  /** The HEAD of the worktree in the repository. */
  head: string
  /** The version of each copied file of the repository. */
  copied: Record<string, string>
  /** Commits that could not be taken over, so that callers do not all wait for the same checks. */
  refused?: { tips: string; reason: string; until: number }
}

/** The folder in which an agent finds the repository's objects and large files, and the parts of this folder. */
export const storeName = 'board-store'
export const storeParts = ['objects', 'lfs'] as const
/** The folder in which an agent finds settings of the server's account. */
export const accountFolder = 'board-account'
/** The ref that shows an agent the commit of its branch in the repository, if that moved there as well. */
export const outsideRef = 'refs/board/outside'

/** The beginning of the names of folders for transfers of objects. */
export const transferPrefix = 'transfer-'

/** The folder of a repository's shadows. Git ignores it. */
export const shadowsOf = (commonDir: string): string => join(commonDir, 'board')

/** The name of the shadow of the repository's original working tree. Git never uses this name for a worktree. */
export const mainShadow = '.main'

/** The folder of a working tree's shadow. */
export const shadowFolder = (tree: WorkingTree): string =>
  join(shadowsOf(tree.commonDir), isMain(tree) ? mainShadow : basename(tree.gitDir))

/** The refs of the repository that a shadow shows, in the format of packed refs, and those that it shows next. */
export const shownRefsFile = ({ folder }: Shadow): string => join(folder, 'refs')
export const newRefsFile = ({ folder }: Shadow): string => join(folder, 'refs.new')

/** Returns the shadow of a worktree, without a process. */
export async function shadowOf(worktree: WorkingTree): Promise<Shadow | undefined> {
  const folder = shadowFolder(worktree)
  const state = await readState(folder)
  return state?.worktree === worktree.topLevel ? placeShadow(worktree, folder, state) : undefined
}

/** Lists the shadows of the worktrees that a repository has. */
export async function listShadows(known: WorkingTree): Promise<Shadow[]> {
  const found = await Promise.all((await listWorkingTrees(known)).map(shadowOf))
  return found.flatMap(shadow => shadow ?? [])
}

export const placeShadow = (worktree: WorkingTree, folder: string, state: ShadowState): Shadow => ({
  ...worktree,
  folder,
  common: join(folder, 'common'),
  admin: isMain(worktree) ? '.' : `worktrees/${basename(worktree.gitDir)}`,
  state,
})

/** The recorded state of a shadow's folder. Undefined for an unfinished one. */
export const readState = async (folder: string): Promise<ShadowState | undefined> =>
  readFile(join(folder, 'state.json'), 'utf8').then(
    text => JSON.parse(text) as ShadowState,
    () => undefined,
  )

export async function writeState(folder: string, state: ShadowState): Promise<void> {
  await writeFile(join(folder, 'state.new'), JSON.stringify(state), { mode: 0o600 })
  await rename(join(folder, 'state.new'), join(folder, 'state.json'))
}

/** The ref of a shadow that is taken over. */
export const refOf = ({ branch }: Pick<ShadowState, 'branch'>): string =>
  branch === null ? 'HEAD' : `refs/heads/${branch}`

/** The commit to take over, in the shadow. Undefined if the ref is missing or contains no direct commit. */
export const tipInside = ({ common, admin, state }: Shadow): Promise<string | undefined> =>
  state.branch === null ? readLoose(common, `${admin}/HEAD`) : readRef(common, refOf(state))

/** The corresponding commit in the repository. */
export const tipOutside = ({ commonDir, gitDir, state }: Shadow): Promise<string | undefined> =>
  state.branch === null ? readLoose(gitDir, 'HEAD') : readRef(commonDir, refOf(state))

const readRef = async (folder: string, ref: string): Promise<string | undefined> => {
  const loose = await readLoose(folder, ref)
  if (loose !== undefined) return loose
  const packed = (await readUntrusted(folder, 'packed-refs', maxPackedRefsBytes)) ?? ''
  const at = packed.indexOf(` ${ref}\n`)
  return at < 0 ? undefined : asId(packed.slice(packed.lastIndexOf('\n', at) + 1, at))
}

const readLoose = async (folder: string, ref: string) =>
  asId((await readUntrusted(folder, ref, maxRefBytes))?.trimEnd())

const asId = (text: string | undefined) =>
  text !== undefined && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text) ? text : undefined
