import { appendFile, chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { shownName } from '../../contract/cards/fileNames.ts'
import { Problem } from '../../contract/errors.ts'
import { accountFiles } from '../../git/accountSettings.ts'
import { configurationOf, configurationText, settingsOf, type Settings } from '../../git/configuration.ts'
import { accountFilters, repositoryFilters } from '../../git/filters.ts'
import { nulSeparated } from '../../git/fileNames.ts'
import { gitOutput, type GitOptions } from '../../git/git.ts'
import { copyIndexFiles, writeGitFolder } from '../../git/gitFolder.ts'
import { findRepository, RepositoryRefused } from '../../git/repository.ts'
import { isMain, type Repository } from '../../git/workingTrees.ts'
import { readCopiedPaths } from '../copiedPaths.ts'
import { takeShadowIndex } from './shadowIndex.ts'
import { copyPlain } from '../../git/untrustedFiles.ts'

/**
 * A worktree accessed through a temporary Git folder, with the repository's objects and a copy of the worktree's index. Only the comparison
 * settings of the repository's configuration apply, so planted filters, external diffs, monitors and hooks have no effect. The account's
 * filters, ignored names and attributes apply.
 */
export interface Quarantine {
  /** The temporary Git folder. */
  gitDir: string
  topLevel: string
  /** The worktree in its repository, or undefined if the folder is not one. */
  repository: Repository | undefined
  /** The commit that is checked out, or undefined before the first one. */
  head: string | undefined
  /**
   * The names of filters that do not run here, but did when the files were written: those of the repository, in its main working tree.
   */
  skippedFilters: readonly string[]
  /** The ignored files that the board copied to the worktree, except those that the commit has. They never count as changes. */
  copies(): Promise<ReadonlySet<string>>
  /** Every branch, remote branch and tag with its object. */
  refs(): Promise<ReadonlyArray<{ name: string; id: string }>>
  run(args: readonly string[], options?: GitOptions): Promise<Buffer>
  close(): Promise<void>
}

const maxShallowBytes = 512 * 1024 * 1024
const maxListBytes = 1024 * 1024
/**
 * Opens a worktree in quarantine, with the temporary Git folder inside `folder`. `known` is the worktree's repository, if already looked
 * up. `indexOf` chooses the index of a worktree with a separate Git folder for its agent. A folder that is not a worktree, or no longer one,
 * appears as one without commits, in which every file is new.
 * @throws GitFailed, or the file system's error
 */
export async function openQuarantine(
  worktreePath: string,
  folder: string,
  known?: Repository,
  indexOf: 'agent' | 'repository' = 'agent',
): Promise<Quarantine> {
  if (!worktreePath.isWellFormed())
    throw new Problem('CONFLICT', `The name of the folder ${shownName(worktreePath)} is not UTF-8. Rename it first.`)
  const topLevel = await realpath(worktreePath)
  const found = known ?? (await repositoryAt(topLevel))
  const repository = found?.topLevel === topLevel ? found : undefined
  const configuration = repository ? await configurationOf(repository) : []
  const gitDir = await makeGitDir(folder, repository, [
    ...settingsOf(configuration),
    ...accountFilters(configuration),
    ...accountFiles(configuration),
  ])
  const env = {
    GIT_DIR: gitDir,
    GIT_WORK_TREE: topLevel,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
  }
  const run: Quarantine['run'] = (args, options) =>
    gitOutput(topLevel, args, { ...options, env: { ...env, ...options?.env } })
  let refs: ReturnType<Quarantine['refs']> | undefined
  let copies: ReturnType<Quarantine['copies']> | undefined
  const quarantine: Quarantine = {
    gitDir,
    topLevel,
    repository,
    head: repository?.head,
    skippedFilters: repository && isMain(repository) ? repositoryFilters(configuration) : [],
    run,
    copies: () => (copies ??= findCopies(run, repository)),
    refs: () => (refs ??= repository ? readRefs(topLevel) : Promise.resolve([])),
    close: () => rm(gitDir, { recursive: true, force: true }),
  }
  if (repository && indexOf === 'agent') await takeShadowIndex(run, gitDir, repository)
  return quarantine
}

/** Works on a worktree in quarantine. @throws what `work` throws, GitFailed, or the file system's error */
export async function inQuarantine<T>(worktree: Repository, work: (quarantine: Quarantine) => Promise<T>): Promise<T> {
  const quarantine = await openQuarantine(worktree.topLevel, tmpdir(), worktree)
  try {
    return await work(quarantine)
  } finally {
    await quarantine.close()
  }
}

/** Returns the repository of which a folder is the top level. `topLevel` contains no link. @throws GitFailed */
export async function repositoryAt(topLevel: string): Promise<Repository | undefined> {
  const found = topLevel.isWellFormed() ? await findRepository(topLevel).catch(ignoreRefused) : undefined
  return found?.topLevel === topLevel ? found : undefined
}

/** An agent can have replaced the `.git` of a worktree, or created a broken one in a folder. All files of the folder are work then. */
function ignoreRefused(error: unknown): undefined {
  if (!(error instanceof RepositoryRefused)) throw error
}

/** An agent can have committed a copy itself. In this case, the file counts as part of the commit. */
async function findCopies(run: Quarantine['run'], repository: Repository | undefined): Promise<ReadonlySet<string>> {
  const paths = repository ? await readCopiedPaths(repository) : []
  if (paths.length === 0 || repository?.head === undefined) return new Set(paths)
  // An argument cannot contain bytes that are not UTF-8.
  const named = paths.filter(path => path.isWellFormed())
  const args = ['ls-tree', '-z', '--full-tree', '--name-only', repository.head, '--', ...named]
  const committed = new Set(nulSeparated(await run(args, { env: { GIT_LITERAL_PATHSPECS: '1' } })))
  return new Set(paths.filter(path => !committed.has(path)))
}

async function readRefs(topLevel: string): ReturnType<Quarantine['refs']> {
  const output = await gitOutput(
    topLevel,
    ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads', 'refs/remotes', 'refs/tags'],
    { maxBytes: 64 * 1024 * 1024 },
  )
  return output
    .toString()
    .split('\n')
    .slice(0, -1)
    .map(line => ({ id: line.slice(0, line.indexOf(' ')), name: line.slice(line.indexOf(' ') + 1) }))
}

/**
 * Creates a temporary Git folder with settings, which sees the repository's objects. With these settings, Git LFS finds the repository's
 * large files.
 * @param more another file of the worktree's Git folder to copy
 */
export async function makeGitDir(
  folder: string,
  repository: Pick<Repository, 'gitDir' | 'commonDir'> | undefined,
  settings: Settings,
  more?: string,
): Promise<string> {
  const gitDir = await mkdtemp(join(folder, 'board-git-'))
  try {
    await chmod(gitDir, 0o700)
    await fillGitDir(gitDir, repository, settings)
    if (repository && more !== undefined)
      await copyPlain(join(repository.gitDir, more), join(gitDir, more), maxListBytes)
    return gitDir
  } catch (error) {
    await rm(gitDir, { recursive: true, force: true })
    throw error
  }
}

async function fillGitDir(
  gitDir: string,
  repository: Parameters<typeof makeGitDir>[1],
  settings: Settings,
): Promise<void> {
  const format = settings
    .filter(([name, value]) => name === 'extensions.objectformat' && /^sha(1|256)$/.test(value))
    .at(-1)?.[1]
  await writeGitFolder(gitDir, format, repository ? [join(repository.commonDir, 'objects')] : [])
  const others = settings.filter(([name]) => !name.startsWith('extensions.'))
  await appendFile(join(gitDir, 'config'), configurationText(others))
  if (!repository) return
  await Promise.all([
    copyIndexFiles(repository.gitDir, gitDir),
    copyPlain(join(repository.commonDir, 'shallow'), join(gitDir, 'shallow'), maxShallowBytes),
    ...['info/exclude', 'info/attributes'].map(name =>
      copyPlain(join(repository.commonDir, name), join(gitDir, name), maxListBytes),
    ),
  ])
}
