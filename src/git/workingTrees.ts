import { readdir, realpath, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { configurationOf } from './configuration.ts'
import { git } from './git.ts'
import { readRefFile } from './refFiles.ts'
import { readPlain } from './untrustedFiles.ts'

const maxRecordBytes = 8192

/**
 * A working tree of a repository: its folder, its Git folder, and the Git folder that all working trees of the repository share.
 * Absolute, without links.
 */
export interface WorkingTree {
  topLevel: string
  gitDir: string
  commonDir: string
  /** A bare repository has no working tree: `topLevel` is its folder, or the folder whose `.git` names it. */
  isBare?: true
}

/** A working tree with its commit (undefined before the first one) and its branch (undefined if detached). */
export interface Repository extends WorkingTree {
  head: string | undefined
  branch: string | undefined
}

/** Whether a working tree is the one that its repository was created with. */
export const isMain = ({ gitDir, commonDir }: WorkingTree): boolean => gitDir === commonDir

/**
 * Lists the working trees of a repository by its own records, missing folders included. Opens nothing in the working trees, because an
 * agent could have changed their files.
 * @param known one of them, or the bare repository
 */
export async function listWorkingTrees(known: WorkingTree): Promise<WorkingTree[]> {
  const names = await readdir(join(known.commonDir, 'worktrees')).catch(() => [])
  const [main, ...linked] = await Promise.all([
    findMainTree(known),
    ...names.map(name => readRecord(known.commonDir, name)),
  ])
  return [main, ...linked].flatMap(tree => tree ?? [])
}

/** Finds the working tree at a path, as `listWorkingTrees` does. */
export async function findWorkingTree(known: WorkingTree, path: string): Promise<WorkingTree | undefined> {
  const real = await realPlace(path)
  // Git names the record after the folder, unless the name is taken.
  const guess = await readRecord(known.commonDir, basename(real))
  if (guess?.topLevel === real) return guess
  return (await listWorkingTrees(known)).find(({ topLevel }) => topLevel === real)
}

/**
 * Finds the working tree that a repository was created with. A bare repository has none. A separate Git folder (`--separate-git-dir`) does
 * not record its working tree, so Git lists the Git folder instead.
 */
async function findMainTree(known: WorkingTree): Promise<WorkingTree | undefined> {
  const { commonDir } = known
  if (isMain(known)) return known.isBare ? undefined : { topLevel: known.topLevel, gitDir: commonDir, commonDir }
  const configuration = await configurationOf({ ...known, gitDir: commonDir })
  const valueOf = (wanted: string) => configuration.findLast(({ name }) => name === wanted)?.value
  if (valueOf('core.bare') === 'true') return undefined
  const worktree = valueOf('core.worktree') ?? (basename(commonDir) === '.git' ? '..' : '.')
  return { topLevel: await realPlace(resolve(commonDir, worktree)), gitDir: commonDir, commonDir }
}

async function readRecord(commonDir: string, name: string): Promise<WorkingTree | undefined> {
  const gitDir = join(commonDir, 'worktrees', name)
  const record = await readPlain(join(gitDir, 'gitdir'), maxRecordBytes).catch(() => undefined)
  if (record === undefined) return undefined
  return { topLevel: await realPlace(dirname(resolve(gitDir, record.trimEnd()))), gitDir, commonDir }
}

/** Updates a repository's record of a worktree with the worktree's place. */
export async function recordPlace({ topLevel, gitDir }: WorkingTree): Promise<void> {
  const record = join(gitDir, 'gitdir')
  await writeFile(`${record}.new`, `${join(topLevel, '.git')}\n`)
  await rename(`${record}.new`, record)
}

/** Resolves links in the path of the parent folder only. The last part could be a link that an agent created. */
export const realPlace = (path: string): Promise<string> =>
  realpath(dirname(path)).then(
    parent => join(parent, basename(path)),
    () => path,
  )

/** Reads the commit and the branch of a working tree, without opening anything in its folder. @throws GitFailed, GitMissing */
export async function readHead(tree: WorkingTree): Promise<Repository> {
  const plain = await readPlainHead(tree).catch(() => undefined)
  if (plain) return plain
  const run = async (args: readonly string[]): Promise<string | undefined> => {
    const { exitCode, stdout } = await git(tree.commonDir, args, { env: { GIT_DIR: tree.gitDir } })
    return exitCode === 0 ? stdout.toString().trim() : undefined
  }
  const [head, ref] = await Promise.all([
    run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']),
    run(['symbolic-ref', '--quiet', 'HEAD']),
  ])
  return { ...tree, head, branch: ref?.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : undefined }
}

/** Like `readHead`, without a process. Returns undefined unless HEAD names a branch whose ref is a file. */
export async function readPlainHead(tree: WorkingTree): Promise<Repository | undefined> {
  const text = await readPlain(join(tree.gitDir, 'HEAD'), maxRecordBytes).catch(() => '')
  const branch = /^ref: refs\/heads\/([^\s~^:?*[\\]+)\n$/.exec(text)?.[1]
  const head = branch === undefined ? undefined : await readRefFile(tree.commonDir, `refs/heads/${branch}`)
  return head === undefined ? undefined : { ...tree, head, branch }
}
