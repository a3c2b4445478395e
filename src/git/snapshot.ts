import { constants } from 'node:fs'
import { access, lstat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kindWithin, survey, type Kind } from './changes.ts'
import { GitFailed } from './git.ts'
import type { Quarantine } from './quarantine.ts'

const timeoutMs = 5 * 60_000
const maxTries = 3

export interface SnapshotLimits {
  maxFiles: number
  maxFileBytes: number
  maxBytes: number
}
/** `changed` names what differs from the index as it was; `isPartial` tells that some of it is not in the tree, or by a stand-in. */
export interface Snapshot {
  tree: string
  changed: string[]
  isPartial: boolean
}

/**
 * The tree of a worktree as its files lie there: staged, changed, deleted and untracked ones, ignored ones only if tracked.
 * A file over a limit has a stand-in in the tree, which is binary and not the same for another size or time. Line ends and
 * encodings are converted as the repository's attributes say; no filter runs. Repositories inside of it stay as the index has them.
 * The quarantine's index is the tree afterwards.
 * @throws GitFailed
 */
export async function snapshotOf(quarantine: Quarantine, limits: SnapshotLimits): Promise<Snapshot> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await takeSnapshot(quarantine, limits)
    } catch (error) {
      if (!(error instanceof GitFailed) || error.reason !== 'failed' || attempt === maxTries) throw error
      // Files may come and go meanwhile; the last time they are also taken as they are, for a conversion may be what fails.
      if (attempt === maxTries - 1)
        await writeFile(join(quarantine.gitDir, 'info/attributes'), '* -text -ident -filter -working-tree-encoding\n')
    }
  }
}

async function takeSnapshot(quarantine: Quarantine, limits: SnapshotLimits): Promise<Snapshot> {
  const { changed: all } = await survey(quarantine)
  const changed = all.slice(0, limits.maxFiles)
  const kinds = await Promise.all(changed.map(path => kindWithin(quarantine.topLevel, path)))
  const ofKind = (...wanted: Kind[]) => changed.filter((_, index) => wanted.includes(kinds[index]!))
  const { small, large } = await bySize(quarantine.topLevel, ofKind('file'), limits)
  await update(quarantine, ['--force-remove'], ofKind('nothing', 'folder', 'other'))
  await update(quarantine, ['--add', '--remove', '--replace'], [...small, ...ofKind('link')])
  await standIn(quarantine, large)
  const tree = (await quarantine.run(['write-tree'], { timeoutMs })).toString().trim()
  return { tree, changed, isPartial: all.length > changed.length }
}

async function update(quarantine: Quarantine, flags: readonly string[], paths: readonly string[]): Promise<void> {
  if (paths.length > 0)
    await quarantine.run(['-c', 'core.safecrlf=false', 'update-index', ...flags, '-z', '--stdin'], {
      input: paths.map(path => `${path}\0`).join(''),
      timeoutMs,
    })
}

interface Large {
  path: string
  description: string
}

/** Parts files that are read from those that are too large, too many to read all, or may not be read. */
async function bySize(
  topLevel: string,
  paths: readonly string[],
  limits: SnapshotLimits,
): Promise<{ small: string[]; large: Large[] }> {
  const small: string[] = []
  const large: Large[] = []
  let bytes = 0
  for (const path of paths) {
    const file = join(topLevel, path)
    const stats = await lstat(file).catch(() => undefined)
    const isReadable = await access(file, constants.R_OK).then(
      () => true,
      () => false,
    )
    if (!stats) continue
    const fits = isReadable && stats.size <= limits.maxFileBytes && bytes + stats.size <= limits.maxBytes
    if (fits) bytes += stats.size
    if (fits) small.push(path)
    else large.push({ path, description: `\0${stats.size} ${stats.mtimeMs}` })
  }
  return { small, large }
}

async function standIn(quarantine: Quarantine, large: readonly Large[]): Promise<void> {
  if (large.length === 0) return
  const ids: string[] = []
  for (const { description } of large)
    ids.push((await quarantine.run(['hash-object', '-w', '--stdin'], { input: description })).toString().trim())
  const entries = large.map(({ path }, index) => `100644 ${ids[index]}\t${path}\0`).join('')
  await quarantine.run(['update-index', '--add', '--replace', '-z', '--index-info'], { input: entries, timeoutMs })
}
