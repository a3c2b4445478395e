import { join } from 'node:path'
import type { GitRun } from '../../git/filters.ts'
import { gitOutput, inGitDir } from '../../git/git.ts'
import { kindOf } from '../../git/kindOf.ts'
import { isSafeName, listSubmoduleCommits, type SubmoduleCommit } from '../../git/submodules.ts'
import type { Repository } from '../../git/workingTrees.ts'
import { kindWithin } from './changes.ts'
import { inQuarantine, repositoryAt } from './quarantine.ts'

const maxLevels = 8
const maxRefsBytes = 64 * 1024 * 1024

/** The location of a submodule's commit. */
export interface FoundSubmodule {
  /** The path in the outermost worktree. */
  path: string
  commit: string
  /** The names of the submodules on the way, from the outermost one. Empty if one of them is not in `.gitmodules`. */
  names: string[]
  /** Whether the worktree has the commit. */
  isInWorktree: boolean
  /** Whether the working tree that will refer to the commit has the submodule's Git folder, and whether that folder has the commit. */
  hasStore: boolean
  isInStore: boolean
  /** Whether a branch or tag of a remote contains the commit, as far as this is known. */
  isPublished: boolean
}

/**
 * Finds commits of submodules, and the commits of nested submodules to which they refer.
 * @param topLevel the worktree; null if its folder does not exist
 * @param modules the folder of the Git folders of the submodules in the working tree that will refer to the commits
 */
export async function findSubmodules(
  topLevel: string | null,
  modules: string,
  commits: readonly SubmoduleCommit[],
): Promise<FoundSubmodule[]> {
  const found: FoundSubmodule[] = []
  for (const each of commits) found.push(...(await findSubmodule(each, { topLevel, path: '', names: [], modules })))
  return found
}

/** The repository that contains a submodule. `names` is undefined if one of the containing submodules has no name. */
interface Around {
  topLevel: string | null
  path: string
  names: string[] | undefined
  modules: string
}

async function findSubmodule({ path, name, commit }: SubmoduleCommit, around: Around): Promise<FoundSubmodule[]> {
  const fullPath = around.path + path
  const names = name !== undefined && isSafeName(name) && around.names ? [...around.names, name] : undefined
  const store = names && join(around.modules, name!)
  const hasStore = store !== undefined && (await isGitFolder(store))
  const nested = around.topLevel === null ? undefined : await submoduleAt(around.topLevel, fullPath)
  const folders = [...(hasStore ? [store] : []), ...(nested ? [nested.commonDir] : [])]
  const isIn = (folder: string | undefined) => (folder === undefined ? false : hasCommit(folder, commit))
  const [isInStore, isInWorktree] = [hasStore && (await isIn(store)), await isIn(nested?.commonDir)]
  const published = await Promise.all(folders.map(folder => isPublished(folder, commit)))
  const found = {
    path: fullPath,
    commit,
    names: names ?? [],
    isInWorktree,
    hasStore,
    isInStore,
    isPublished: published.includes(true),
  }
  if (!nested || !isInWorktree || isInStore || found.isPublished || (names?.length ?? 1) > maxLevels) return [found]
  const deeper = await listDeeper(nested, commit)
  const inside = { ...around, path: `${fullPath}/`, names, modules: join(store ?? around.modules, 'modules') }
  return [found, ...(await Promise.all(deeper.map(each => findSubmodule(each, inside)))).flat()]
}

/** Reads through a quarantine: with the submodule's configuration, `git log` could start programs. */
const listDeeper = (nested: Repository, commit: string): Promise<SubmoduleCommit[]> =>
  inQuarantine(nested, async quarantine => {
    const known = (await quarantine.refs()).filter(({ name }) => name.startsWith('refs/remotes/')).map(({ id }) => id)
    return listSubmoduleCommits(quarantine.run, { from: undefined, to: commit, tip: commit, known })
  })

/** Returns the repository of a submodule in a worktree. Follows no link. @throws GitFailed */
export const submoduleAt = async (topLevel: string, path: string): Promise<Repository | undefined> =>
  (await kindWithin(topLevel, path)) === 'folder' ? repositoryAt(join(topLevel, path)) : undefined

/** Whether a repository, or a submodule in a working tree, has a commit. */
export const hasCommit = (commonDir: string, commit: string): Promise<boolean> =>
  runIn(commonDir)(['cat-file', '-e', `${commit}^{commit}`]).then(
    () => true,
    () => false,
  )

const isPublished = async (commonDir: string, commit: string): Promise<boolean> =>
  (await runIn(commonDir)(['for-each-ref', '--count=1', '--contains', commit, 'refs/remotes']).catch(() => '')).length >
  0

const runIn =
  (commonDir: string): GitRun =>
  (args, options) =>
    gitOutput(commonDir, args, { maxBytes: maxRefsBytes, ...options, env: inGitDir(commonDir) })

const isGitFolder = async (path: string): Promise<boolean> =>
  (await kindOf(path)) === 'folder' && (await kindOf(join(path, 'objects'))) === 'folder'
