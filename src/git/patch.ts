import { appendFile, open, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { commitsOf, kindOf, kindWithin, survey, type Kind } from './changes.ts'
import { GitFailed } from './git.ts'
import { openQuarantine, type Quarantine } from './quarantine.ts'

const timeoutMs = 10 * 60_000
const maxLevels = 16

/**
 * Writes a patch of the work that deleting a worktree would lose to the new file `file` (0600, synced): each commit
 * that only `branch` or no branch holds, then the uncommitted and untracked changes, as one mailbox for `git am` or
 * `git apply`; the same for nested repositories. @returns whether there was anything; otherwise there is no file
 * @throws Problem WORKTREE_DIRTY, DISK_FULL: there is no patch and nothing may be deleted
 */
export async function savePatch(worktreePath: string, branch: string | null, file: string): Promise<boolean> {
  if ((await kindOf(worktreePath)) === 'nothing') return false
  await (await open(file, 'wx', 0o600)).close()
  try {
    if ((await kindOf(worktreePath)) !== 'folder') throw new GitFailed('failed', 'The worktree is not a folder.')
    await appendRepository(worktreePath, branch, file, '', 0)
    const size = await syncToDisk(file)
    if (size === 0) await rm(file)
    return size > 0
  } catch (error) {
    await rm(file, { force: true })
    throw toProblem(error)
  }
}

function toProblem(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return new Problem('DISK_FULL', undefined, { cause: error })
  return error instanceof GitFailed
    ? new Problem('WORKTREE_DIRTY', 'A patch of the worktree could not be saved, so nothing was deleted.', {
        cause: error,
      })
    : error
}

async function syncToDisk(file: string): Promise<number> {
  const patch = await open(file, 'r+')
  try {
    await patch.sync()
    return (await patch.stat()).size
  } finally {
    await patch.close()
  }
}

async function appendRepository(
  path: string,
  branch: string | null | undefined,
  file: string,
  prefix: string,
  level: number,
): Promise<void> {
  if (level > maxLevels) throw new GitFailed('failed', 'Repositories are nested too deep.')
  const quarantine = await openQuarantine(path, dirname(file))
  try {
    const { nested } = await survey(quarantine)
    await appendCommits(quarantine, branch, file, prefix)
    await appendChanges(quarantine, file, prefix)
    for (const folder of nested)
      await appendRepository(join(quarantine.topLevel, folder), undefined, file, `${prefix}${folder}/`, level + 1)
  } finally {
    await quarantine.close()
  }
}

/** Whole file contents, without the repository's diff drivers and text conversions, which are programs. */
const plainDiff = (prefix: string) => [
  '--patch',
  '--binary',
  '--full-index',
  '--no-ext-diff',
  '--no-textconv',
  '--no-renames',
  '--no-color',
  '--ignore-submodules=none',
  `--src-prefix=a/${prefix}`,
  `--dst-prefix=b/${prefix}`,
]

/** Follows first parents only: on that line each patch, also a merge's, applies to the result of the previous one. */
async function appendCommits(
  quarantine: Quarantine,
  branch: string | null | undefined,
  file: string,
  prefix: string,
): Promise<void> {
  const { lost, kept } = await commitsOf(quarantine, branch)
  for (const [index, tip] of lost.entries()) {
    const revisions = [tip, ...[...kept, ...lost.slice(0, index)].map(id => `^${id}`)].join('\n')
    await quarantine.run(
      [
        'log',
        '--reverse',
        '--first-parent',
        '--diff-merges=first-parent',
        '--no-mailmap',
        '--pretty=mboxrd',
        ...plainDiff(prefix),
        '--ignore-missing',
        '--stdin',
      ],
      { input: `${revisions}\n`, appendTo: file, timeoutMs },
    )
  }
}

async function appendChanges(quarantine: Quarantine, file: string, prefix: string): Promise<void> {
  const before =
    quarantine.head === undefined
      ? await treeOf(quarantine, ['hash-object', '-w', '-t', 'tree', '--stdin'])
      : await treeOf(quarantine, ['rev-parse', `${quarantine.head}^{tree}`])
  // write-tree refuses an index with conflicts; its staged contents are then saved from the files only.
  const staged = await treeOf(quarantine, ['write-tree']).catch(() => before)
  await indexFiles(quarantine)
  const after = await treeOf(quarantine, ['write-tree'])
  if (staged !== after) await appendDiff(quarantine, before, staged, 'Staged changes', file, prefix)
  await appendDiff(quarantine, staged === after ? before : staged, after, 'Uncommitted changes', file, prefix)
}

/** Adds the worktree's files to the quarantine's index byte for byte: the attributes disable all conversions. */
async function indexFiles(quarantine: Quarantine): Promise<void> {
  const { changed: paths } = await survey(quarantine)
  const kinds = await Promise.all(paths.map(path => kindWithin(quarantine.topLevel, path)))
  const list = (...wanted: Kind[]) =>
    paths
      .filter((_, index) => wanted.includes(kinds[index]!))
      .map(path => `${path}\0`)
      .join('')
  await writeFile(join(quarantine.gitDir, 'info/attributes'), '* -text -ident -filter -working-tree-encoding\n')
  await quarantine.run(['update-index', '--force-remove', '-z', '--stdin'], {
    input: list('nothing', 'folder'),
    timeoutMs,
  })
  await quarantine.run(['update-index', '--add', '--replace', '-z', '--stdin'], {
    input: list('file', 'link'),
    timeoutMs,
  })
}

async function appendDiff(
  quarantine: Quarantine,
  before: string,
  after: string,
  subject: string,
  file: string,
  prefix: string,
): Promise<void> {
  if (before === after) return
  await appendFile(
    file,
    `From ${'0'.repeat(40)} Mon Sep 17 00:00:00 2001\nFrom: board <board@localhost>\nDate: ${new Date().toUTCString()}\nSubject: [PATCH] ${subject}${prefix && ` in ${JSON.stringify(prefix)}`}\n\n`,
  )
  await quarantine.run(['diff-tree', '-r', ...plainDiff(prefix), before, after], { appendTo: file, timeoutMs })
  await appendFile(file, '\n')
}

const treeOf = async (quarantine: Quarantine, args: readonly string[]) =>
  (await quarantine.run(args, { input: '' })).toString().trim()
