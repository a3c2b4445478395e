import { constants } from 'node:fs'
import { copyFile, mkdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { Problem } from '../../contract/errors.ts'
import { git } from '../../git/git.ts'
import { nulSeparated } from '../../git/fileNames.ts'

const maxFiles = 1000
const maxBytes = 256 * 1024 * 1024
const maxListBytes = 4 * 1024 * 1024

/**
 * Copies the ignored files of `from` that match a pattern (`.env`, `config/*.local`, a folder) to the same paths in
 * `to`. Existing files stay. Only files really inside of `from` are copied, and only into `to`, wherever links lead.
 * @throws Problem CONFLICT for more than 1,000 files or 256 MiB
 */
export async function copyIgnored(from: string, to: string, patterns: readonly string[]): Promise<void> {
  const [source, target] = await Promise.all([realpath(from), realpath(to)])
  let bytes = 0
  const paths = await listIgnored(source, patterns)
  if (paths.length > maxFiles)
    throw new Problem('CONFLICT', `The project copies more than ${maxFiles} ignored files into each worktree.`)
  for (const path of paths) {
    const real = await realpath(join(source, path)).catch(() => undefined)
    if (real === undefined || !isInside(source, real)) continue
    const { size, isFile } = await stat(real).then(stats => ({ size: stats.size, isFile: stats.isFile() }))
    if (!isFile) continue
    bytes += size
    if (bytes > maxBytes)
      throw new Problem('CONFLICT', 'The project copies more than 256 MiB of ignored files into each worktree.')
    await copyInto(target, path, real)
  }
}

/**
 * A Git pathspec without magic other than `*`, `?`, `[]` and `**`. An empty one, and one that leads out of the
 * repository, match nothing.
 */
async function listIgnored(source: string, patterns: readonly string[]): Promise<string[]> {
  const listed = await Promise.all(
    patterns
      .filter(pattern => pattern !== '')
      .map(async pattern => {
        const { exitCode, stdout } = await git(
          source,
          ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--', `:(glob)${pattern}`],
          { maxBytes: maxListBytes, cutsOutput: true },
        )
        return exitCode === 0 ? nulSeparated(stdout) : []
      }),
  )
  return [...new Set(listed.flat())]
}

async function copyInto(target: string, path: string, real: string): Promise<void> {
  const place = join(target, path)
  const folder = await nearestExisting(target, dirname(place))
  if (folder !== target && !isInside(target, folder)) return
  // A link that leads nowhere can be in the way of a folder.
  await mkdir(dirname(place), { recursive: true }).catch(() => undefined)
  if ((await realpath(dirname(place)).catch(() => undefined)) !== dirname(place)) return
  await copyFile(real, place, constants.COPYFILE_EXCL).catch(error => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  })
}

/** The real path of the nearest existing folder. */
async function nearestExisting(target: string, path: string): Promise<string> {
  for (let folder = path; folder.length >= target.length; folder = dirname(folder)) {
    const real = await realpath(folder).catch(() => undefined)
    if (real !== undefined) return real
  }
  return target
}

const isInside = (folder: string, path: string): boolean =>
  !relative(folder, path).startsWith(`..${sep}`) && relative(folder, path) !== '..' && relative(folder, path) !== ''
