import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commitsOf, kindWithin, surveyChanges } from './changes.ts'
import { type Kind } from '../../git/kindOf.ts'
import { nulTerminated } from '../../git/fileNames.ts'
import { GitFailed } from '../../git/git.ts'
import { openQuarantine, type Quarantine } from './quarantine.ts'
import type { Send } from '../send.ts'

const timeoutMs = 10 * 60_000
const maxLevels = 16

/**
 * Sends a patch of the work that deleting a worktree would lose: the commits that no branch except `branch` contains, then the uncommitted
 * and untracked changes, as one mailbox for `git am` or `git apply`. Includes the work in nested repositories.
 * @throws GitFailed, or the file system's error
 */
export const writePatch = (topLevel: string, branch: string | null, send: Send): Promise<void> =>
  writeRepository(topLevel, branch, send, '', 0)

async function writeRepository(
  path: string,
  branch: string | null | undefined,
  send: Send,
  prefix: string,
  level: number,
): Promise<void> {
  if (level > maxLevels) throw new GitFailed('failed', 'Repositories are nested too deep.')
  const quarantine = await openQuarantine(path, tmpdir())
  try {
    const { nested } = await surveyChanges(quarantine)
    await writeCommits(quarantine, branch, send, prefix)
    await writeChanges(quarantine, send, prefix)
    for (const { path: folder } of nested)
      await writeRepository(join(quarantine.topLevel, folder), undefined, send, `${prefix}${folder}/`, level + 1)
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

/** Follows first parents only, so that each patch, also that of a merge, applies to the result of the previous one. */
async function writeCommits(
  quarantine: Quarantine,
  branch: string | null | undefined,
  send: Send,
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
      { input: `${revisions}\n`, onOutput: send, timeoutMs },
    )
  }
}

async function writeChanges(quarantine: Quarantine, send: Send, prefix: string): Promise<void> {
  const before =
    quarantine.head === undefined
      ? await treeOf(quarantine, ['hash-object', '-w', '-t', 'tree', '--stdin'])
      : await treeOf(quarantine, ['rev-parse', `${quarantine.head}^{tree}`])
  // write-tree fails if the index has conflicts. In this case, the patch contains only the files, not the staged contents.
  const staged = await treeOf(quarantine, ['write-tree']).catch(() => before)
  await indexFiles(quarantine)
  const after = await treeOf(quarantine, ['write-tree'])
  if (staged !== after) await writeDiff(quarantine, before, staged, 'Staged changes', send, prefix)
  await writeDiff(quarantine, staged === after ? before : staged, after, 'Uncommitted changes', send, prefix)
}

/** Adds the worktree's files to the quarantine's index byte for byte: the attributes disable all conversions. */
async function indexFiles(quarantine: Quarantine): Promise<void> {
  const { changed: paths } = await surveyChanges(quarantine)
  const kinds = await Promise.all(paths.map(path => kindWithin(quarantine.topLevel, path)))
  const list = (...wanted: Kind[]) => nulTerminated(paths.filter((_, index) => wanted.includes(kinds[index]!)))
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

async function writeDiff(
  quarantine: Quarantine,
  before: string,
  after: string,
  subject: string,
  send: Send,
  prefix: string,
): Promise<void> {
  if (before === after) return
  await send(
    Buffer.from(
      `From ${'0'.repeat(40)} Mon Sep 17 00:00:00 2001\nFrom: board <board@localhost>\nDate: ${new Date().toUTCString()}\nSubject: [PATCH] ${subject}${prefix && ` in ${JSON.stringify(prefix)}`}\n\n`,
    ),
  )
  await quarantine.run(['diff-tree', '-r', ...plainDiff(prefix), before, after], { onOutput: send, timeoutMs })
  await send(Buffer.from('\n'))
}

const treeOf = async (quarantine: Quarantine, args: readonly string[]) =>
  (await quarantine.run(args, { input: '' })).toString().trim()
