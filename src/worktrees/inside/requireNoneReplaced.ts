import { dirname } from 'node:path'
import { Problem } from '../../contract/errors.ts'
import { nulSeparated } from '../../git/fileNames.ts'
import { namePaths, pathDetails } from '../namePaths.ts'
import { kindWithin } from './changes.ts'
import type { CheckoutRun } from './checkout.ts'

const maxListBytes = 256 * 1024 * 1024

/**
 * Ensures that no file that a commit adds replaces an untracked file, except the `adopted` ones. Git itself replaces an ignored file without
 * notice.
 * @throws Problem WORKTREE_DIRTY that names the files
 */
export async function requireNoneReplaced(
  run: CheckoutRun,
  topLevel: string,
  { from, to, adopted }: { from: string; to: string; adopted: ReadonlySet<string> },
): Promise<void> {
  const list = async (filter: string) =>
    nulSeparated(
      await run(
        [
          'diff-tree',
          '-r',
          '-z',
          '--name-only',
          '--no-renames',
          '--ignore-submodules',
          `--diff-filter=${filter}`,
          from,
          to,
        ],
        { maxBytes: maxListBytes },
      ),
    )
  const [added, deleted] = await Promise.all([list('A'), list('D')])
  const tracked = new Set(deleted)
  const found = new Set<string>()
  for (const path of added) {
    const place = await inTheWay(topLevel, path)
    if (place === undefined || tracked.has(place.path) || adopted.has(path)) continue
    // A pathspec cannot contain bytes that are not UTF-8.
    if (place.isFolder && place.path.isWellFormed())
      for (const each of await untrackedIn(run, place.path)) found.add(each)
    else found.add(place.path)
  }
  if (found.size === 0) return
  const paths = [...found]
  // The message has no command to copy, because an agent can have chosen the file names.
  throw new Problem(
    'WORKTREE_DIRTY',
    `${namePaths(paths)} in ${topLevel} would be replaced, and Git does not track ${paths.length === 1 ? 'this file. Move it' : 'these files. Move them'} to another folder first, to keep a copy. Nothing was changed.`,
    { details: pathDetails(paths, 'is not tracked') },
  )
}

/** Finds an existing file or folder at a path of a working tree, or a file in place of one of its parent folders. */
async function inTheWay(topLevel: string, path: string): Promise<{ path: string; isFolder: boolean } | undefined> {
  const kind = await kindWithin(topLevel, path)
  if (kind !== 'nothing') return { path, isFolder: kind === 'folder' }
  const parent = dirname(path)
  if (parent === '.') return undefined
  const above = await inTheWay(topLevel, parent)
  return above?.isFolder ? undefined : above
}

const untrackedIn = async (run: CheckoutRun, folder: string): Promise<string[]> =>
  nulSeparated(await run(['ls-files', '-z', '--others', '--', `:(literal)${folder}`], { maxBytes: maxListBytes }))
