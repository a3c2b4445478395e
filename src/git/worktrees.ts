import { appendFile, lstat, open, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { git, GitFailed, nulSeparated } from './git.ts'
import { openQuarantine, type Quarantine } from './quarantine.ts'
import { findRepository } from './repository.ts'

const patchTimeoutMs = 10 * 60_000
const mostNested = 16

/** Whether a folder is a worktree of the repository that another folder belongs to, as that repository itself knows it. */
export async function belongsTo(worktreePath: string, projectPath: string): Promise<boolean> {
  const [worktree, project] = await Promise.all([realpath(worktreePath), realpath(projectPath)]).catch(() => [])
  if (worktree === undefined || project === undefined) return false
  const [found, wanted] = await Promise.all([findRepository(worktree), findRepository(project)])
  if (!found || !wanted || found.topLevel !== worktree || found.commonDir !== wanted.commonDir) return false
  const { stdout } = await git(project, ['worktree', 'list', '--porcelain', '-z'])
  const paths = nulSeparated(stdout).filter(line => line.startsWith('worktree ')).map(line => realpath(line.slice('worktree '.length)).catch(() => undefined))
  return (await Promise.all(paths)).includes(worktree)
}

/**
 * Whether a worktree can go without a loss: no uncommitted or untracked change, here or in a repository inside of it, and no
 * commit that only `branch` (the card's own) or no branch at all holds. A folder that is gone, or empty, is clean.
 * @throws GitFailed
 */
export async function isClean(worktreePath: string, branch: string | null): Promise<boolean> {
  if (!await isFolder(worktreePath)) return true
  return isCleanWithin(worktreePath, branch, 0)
}

async function isCleanWithin(path: string, branch: string | null, level: number): Promise<boolean> {
  if (level > mostNested) return false
  const quarantine = await openQuarantine(path, tmpdir())
  try {
    if (await hasUnheldCommits(quarantine, branch) || await isChanged(quarantine)) return false
    for (const nested of await nestedRepositories(quarantine)) if (!await isCleanWithin(join(quarantine.topLevel, nested), null, level + 1)) return false
    return true
  } finally {
    await quarantine.close()
  }
}

/**
 * Appends to `file` (made 0600) a patch of what would be lost with a worktree: each commit that only `branch` or no branch
 * holds, then the uncommitted and untracked changes, as one mailbox that `git am` or `git apply` takes, and the same for
 * repositories inside of the worktree. Nothing to lose makes no file.
 * @throws GitFailed, or the file system's error; then the file is removed and nothing may be deleted
 */
export async function savePatch(worktreePath: string, branch: string | null, file: string): Promise<void> {
  if (!await isFolder(worktreePath)) return
  await (await open(file, 'wx', 0o600)).close()
  try {
    await appendPatch(worktreePath, branch, file, '', 0)
    const patch = await open(file, 'r+')
    try {
      await patch.sync()
      if ((await patch.stat()).size === 0) await rm(file)
    } finally {
      await patch.close()
    }
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
}

async function appendPatch(path: string, branch: string | null, file: string, prefix: string, level: number): Promise<void> {
  if (level > mostNested) throw new GitFailed('failed', 'Repositories are nested too deep.')
  const quarantine = await openQuarantine(path, dirname(file))
  try {
    await appendCommits(quarantine, branch, file, prefix)
    await appendChanges(quarantine, file, prefix)
    for (const nested of await nestedRepositories(quarantine)) await appendPatch(join(quarantine.topLevel, nested), null, file, `${prefix}${nested}/`, level + 1)
  } finally {
    await quarantine.close()
  }
}

/** What a diff says of files: everything, and nothing that a program of the repository's makes of them. */
const plainDiff = (prefix: string) => ['--binary', '--full-index', '--no-ext-diff', '--no-textconv', '--no-renames', '--no-color', '--ignore-submodules=none', `--src-prefix=a/${prefix}`, `--dst-prefix=b/${prefix}`]

/** The first parents' line is followed, so that every patch applies to the one before it, merges too. */
async function appendCommits(quarantine: Quarantine, branch: string | null, file: string, prefix: string): Promise<void> {
  const { tips, held } = commits(quarantine, branch)
  const written: string[] = []
  for (const tip of tips) {
    const revisions = [tip, ...[...held, ...written].map(id => `^${id}`)].join('\n')
    await quarantine.run(['log', '--reverse', '--first-parent', '--diff-merges=first-parent', '--patch', '--pretty=mboxrd', ...plainDiff(prefix), '--ignore-missing', '--stdin'], { input: `${revisions}\n`, appendTo: file, timeoutMs: patchTimeoutMs })
    written.push(tip)
  }
}

async function appendChanges(quarantine: Quarantine, file: string, prefix: string): Promise<void> {
  const paths = await changedPaths(quarantine)
  await quarantine.run(['update-index', '--add', '--remove', '-z', '--stdin'], { input: paths.map(path => `${path}\0`).join(''), timeoutMs: patchTimeoutMs })
  const [before, after] = [quarantine.head ?? await emptyTree(quarantine), (await quarantine.run(['write-tree'])).toString().trim()]
  if ((await quarantine.run(['diff-tree', '-r', '--name-only', before, after])).length === 0) return
  await appendFile(file, `From ${'0'.repeat(40)} Mon Sep 17 00:00:00 2001\nFrom: board <board@localhost>\nSubject: [PATCH] Uncommitted changes\n\n---\n`)
  await quarantine.run(['diff-tree', '-r', '--patch', ...plainDiff(prefix), before, after], { appendTo: file, timeoutMs: patchTimeoutMs })
  await appendFile(file, '\n')
}

const emptyTree = async (quarantine: Quarantine) => (await quarantine.run(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' })).toString().trim()

/** What may be lost with a worktree: its checked out commit and the card's branch, where nothing else that stays holds them. */
function commits({ head, refs }: Quarantine, branch: string | null): { tips: string[]; held: string[] } {
  const own = branch === null ? undefined : `refs/heads/${branch}`
  const tips = [head, refs.find(ref => ref.name === own)?.id].filter((id): id is string => id !== undefined)
  return { tips: [...new Set(tips)], held: [...new Set(refs.filter(ref => ref.name !== own).map(ref => ref.id))] }
}

async function hasUnheldCommits(quarantine: Quarantine, branch: string | null): Promise<boolean> {
  const { tips, held } = commits(quarantine, branch)
  if (tips.length === 0) return false
  const revisions = [...tips, ...held.map(id => `^${id}`)].join('\n')
  return (await quarantine.run(['rev-list', '--max-count=1', '--ignore-missing', '--stdin'], { input: `${revisions}\n` })).length > 0
}

async function isChanged(quarantine: Quarantine): Promise<boolean> {
  try {
    if ((await listFiles(quarantine, 'staged')).length > 0) return true
    return (await changedPaths(quarantine)).length > 0 || (await untrackedRepositories(quarantine)).length > 0
  } catch (error) {
    if (error instanceof GitFailed && error.reason === 'output') return true
    throw error
  }
}
