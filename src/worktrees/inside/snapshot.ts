import { constants, type Stats } from 'node:fs'
import { access, lstat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kindWithin, surveyChanges, type NestedRepository } from './changes.ts'
import { type Kind } from '../../git/kindOf.ts'
import { filePath, nulTerminated } from '../../git/fileNames.ts'
import { GitFailed } from '../../git/git.ts'
import { repositoryAt, type Quarantine } from './quarantine.ts'

const timeoutMs = 5 * 60_000
const maxTries = 3

export interface SnapshotLimits {
  maxFiles: number
  maxFileBytes: number
  maxBytes: number
  /** Whether the tree refers to untracked repositories inside as if they were submodules. */
  hasUntrackedRepositories: boolean
}
/** Larger files are listed in a diff without content. */
export const maxShownBytes = 2 * 1024 * 1024
export const shownLimits: SnapshotLimits = {
  maxFiles: 5000,
  maxFileBytes: maxShownBytes,
  maxBytes: 64 * 1024 * 1024,
  hasUntrackedRepositories: true,
}

/** `changed`: differences from the original index. `isPartial`: some files are missing, or have a placeholder. */
export interface Snapshot {
  tree: string
  changed: string[]
  nested: readonly NestedRepository[]
  isPartial: boolean
}

/**
 * Writes a tree of a worktree's current files: staged, changed, deleted and untracked ones; ignored ones only if tracked. A file
 * over a limit is replaced by a binary placeholder that differs by size and time. Line endings and encodings are converted by the
 * repository's attributes, but no filter runs. A submodule has its checked-out commit. Afterwards, the quarantine's index is that
 * tree.
 * @throws GitFailed
 */
export async function snapshotOf(quarantine: Quarantine, limits: SnapshotLimits): Promise<Snapshot> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await takeSnapshot(quarantine, limits)
    } catch (error) {
      if (!(error instanceof GitFailed) || error.reason !== 'failed' || attempt === maxTries) throw error
      // Files can appear and disappear in the meantime. The last attempt skips conversions, in case one of them fails.
      if (attempt === maxTries - 1)
        await writeFile(join(quarantine.gitDir, 'info/attributes'), '* -text -ident -filter -working-tree-encoding\n')
    }
  }
}

async function takeSnapshot(quarantine: Quarantine, limits: SnapshotLimits): Promise<Snapshot> {
  const { changed: all, nested } = await surveyChanges(quarantine)
  const changed = all.slice(0, limits.maxFiles)
  const kinds = await Promise.all(changed.map(path => kindWithin(quarantine.topLevel, path)))
  const ofKind = (...wanted: Kind[]) => changed.filter((_, index) => wanted.includes(kinds[index]!))
  const { small, large } = await separateBySize(quarantine.topLevel, ofKind('file'), limits)
  await update(quarantine, ['--force-remove'], ofKind('nothing', 'folder', 'other'))
  await update(quarantine, ['--add', '--remove', '--replace'], [...small, ...ofKind('link')])
  await addPlaceholders(quarantine, large)
  await recordNested(quarantine, limits.hasUntrackedRepositories ? nested : nested.filter(each => each.recorded))
  // An agent can have staged a copy.
  await update(quarantine, ['--force-remove'], [...(await quarantine.copies())])
  const tree = (await quarantine.run(['write-tree'], { timeoutMs })).toString().trim()
  return { tree, changed, nested, isPartial: all.length > changed.length }
}

async function update(quarantine: Quarantine, flags: readonly string[], paths: readonly string[]): Promise<void> {
  if (paths.length > 0)
    await quarantine.run(['-c', 'core.safecrlf=false', 'update-index', ...flags, '-z', '--stdin'], {
      input: nulTerminated(paths),
      timeoutMs,
    })
}

interface Large {
  path: string
  description: string
}

/** Separates readable files from those that are too large, too many, or unreadable. */
async function separateBySize(
  topLevel: string,
  paths: readonly string[],
  limits: SnapshotLimits,
): Promise<{ small: string[]; large: Large[] }> {
  const small: string[] = []
  const large: Large[] = []
  let bytes = 0
  for (const path of paths) {
    const file = filePath(join(topLevel, path))
    const stats = await lstat(file).catch(() => undefined)
    const isReadable = await access(file, constants.R_OK).then(
      () => true,
      () => false,
    )
    if (!stats) continue
    const fits = isReadable && stats.size <= limits.maxFileBytes && bytes + stats.size <= limits.maxBytes
    if (fits) bytes += stats.size
    if (fits) small.push(path)
    else large.push({ path, description: descriptionOf(stats) })
  }
  return { small, large }
}

const descriptionOf = ({ size, mtimeMs }: Stats): string => `\0${size} ${mtimeMs}`

/** Whether a file's content is the placeholder in a snapshot for a file over a limit. */
export const isPlaceholder = (content: Buffer): boolean =>
  content.length < 64 && /^\0\d+ \d+(\.\d+)?$/.test(content.toString('latin1'))

async function addPlaceholders(quarantine: Quarantine, large: readonly Large[]): Promise<void> {
  if (large.length === 0) return
  const ids: string[] = []
  for (const { description } of large)
    ids.push((await quarantine.run(['hash-object', '-w', '--stdin'], { input: description })).toString().trim())
  await setEntries(
    quarantine,
    large.map(({ path }, index) => `100644 ${ids[index]}\t${path}`),
  )
}

/** Adds the checked-out commits of repositories inside a worktree to the index. */
async function recordNested(quarantine: Quarantine, nested: readonly NestedRepository[]): Promise<void> {
  const heads = await Promise.all(
    nested.map(async ({ path }) => (await repositoryAt(join(quarantine.topLevel, path)))?.head),
  )
  const entries = nested.flatMap(({ path, recorded }, index) => {
    const head = heads[index]
    // A tree cannot refer to a commit with another object format.
    const isUsable = head !== undefined && head.length === (quarantine.head ?? head).length
    return isUsable && head !== recorded ? [`160000 ${head}\t${path}`] : []
  })
  if (entries.length > 0) await setEntries(quarantine, entries)
}

/** @param entries "mode object TAB path" */
const setEntries = (quarantine: Quarantine, entries: readonly string[]): Promise<Buffer> =>
  quarantine.run(['update-index', '--add', '--replace', '-z', '--index-info'], {
    input: nulTerminated(entries),
    timeoutMs,
  })

/** Packs the objects of a tree that the HEAD commit lacks. */
export const packTree = (
  quarantine: Quarantine,
  tree: string,
  onPack: (bytes: Buffer) => Promise<void>,
): Promise<Buffer> =>
  quarantine.run(['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'], {
    input: [tree, ...(quarantine.head === undefined ? [] : [`^${quarantine.head}`])].map(each => `${each}\n`).join(''),
    timeoutMs,
    onOutput: onPack,
  })
