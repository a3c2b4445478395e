import { constants } from 'node:fs'
import { copyFile, mkdir, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { isWithin } from '../../config/folders.ts'
import { Problem } from '../../contract/errors.ts'
import { filePath, nulSeparated, nulTerminated, realName } from '../../git/fileNames.ts'
import { git, gitOutput } from '../../git/git.ts'
import { writeGitFolder } from '../../git/gitFolder.ts'
import { includeFile, includeProblem, maxIncludeBytes, type CopyRules } from '../includeFile.ts'
import { readPlainFile } from './readFolderFile.ts'

const maxFiles = 1000
const maxMiB = 256
const listTimeoutMs = 120_000

/** The folder of a project, the top of its working tree, and the folder in a worktree for the copies. */
export interface CopyPlaces {
  source: string
  top: string
  target: string
}

/**
 * Copies the ignored files of `source` that the rules name to the same paths in `target`. Existing files stay. Only files really inside of
 * `source` are copied, and only into `target`, regardless of links.
 * @returns the paths of the copies, relative to `target`
 * @throws Problem CONFLICT for more than 1,000 files or 256 MiB. It names the pattern that matches the most
 */
export async function copyIgnored(places: CopyPlaces, rules: CopyRules): Promise<string[]> {
  const [source, top, target] = await Promise.all([
    realpath(places.source),
    realpath(places.top),
    realpath(places.target),
  ])
  const folder = relative(top, source)
  const lines = await linesOf(top, folder, rules)
  if (lines.length === 0) return []
  const scratch = await mkdtemp(join(tmpdir(), 'board-copies-'))
  try {
    const list = join(scratch, 'patterns')
    await writeFile(list, lines.map(({ line }) => `${line}\n`).join(''), 'latin1')
    const refuse = async (weights: ReadonlyMap<string, number>, reason: string) => {
      const { text, origin } = lines[(await heaviestLine(scratch, list, folder, weights)) - 1]!
      const advice = 'Make the pattern more specific, or exclude files by patterns with "!".'
      return new Problem(
        'CONFLICT',
        `The pattern "${text}" of ${origin} matches too many ignored files: ${reason} ${advice}`,
      )
    }
    const { paths, isCut } = await listIgnored(source, list)
    if (isCut || paths.length > maxFiles)
      throw await refuse(
        new Map(paths.map(path => [path, 1])),
        `the board copies at most ${maxFiles} files into a worktree.`,
      )
    const files = await realFiles(source, paths, rules.hidden)
    if (files.reduce((sum, { size }) => sum + size, 0) > maxMiB * 1024 * 1024)
      throw await refuse(
        new Map(files.map(({ path, size }) => [path, size])),
        `the board copies at most ${maxMiB} MiB into a worktree.`,
      )
    const copied: string[] = []
    for (const { path, real } of files) if (await copyInto(target, path, real)) copied.push(path)
    return copied
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** A line of the list of patterns that Git reads, one character per byte, with the pattern as written and its location. */
interface PatternLine {
  line: string
  text: string
  origin: string
}

async function linesOf(top: string, folder: string, { include, patterns }: CopyRules): Promise<PatternLine[]> {
  const content = include ?? (await readUntracked(top))
  const included = content === '' ? [] : content.split('\n')
  return [
    ...included.map(line => ({ line, text: Buffer.from(line, 'latin1').toString().trim(), origin: includeFile })),
    ...patterns
      .flatMap(pattern => pattern.split('\n'))
      .map(text => ({ line: Buffer.from(inFolder(folder, text)).toString('latin1'), text, origin: 'copiedFiles' })),
  ]
}

/** Reads `.worktreeinclude` of the repository's folder if Git does not track it. In this case, no commit contains it. */
async function readUntracked(top: string): Promise<string> {
  if ((await gitOutput(top, ['ls-files', '-z', '--', includeFile])).length > 0) return ''
  try {
    return (await readPlainFile(join(top, includeFile), maxIncludeBytes)).toString('latin1')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return ''
    throw includeProblem(code === 'ELOOP' ? 'it is a link' : (code ?? message))
  }
}

/**
 * Converts a pattern relative to a folder to one relative to the top folder. A pattern without a slash before its end matches at any depth.
 */
function inFolder(folder: string, pattern: string): string {
  if (folder === '' || pattern === '' || pattern.startsWith('#')) return pattern
  const [, not, body] = /^(!?)(.*)$/.exec(pattern)!
  const depth = body!.trimEnd().slice(0, -1).includes('/') ? '' : '**/'
  return `${not}/${folder.replace(/[\\*?[]/g, '\\$&')}/${depth}${body!.replace(/^\//, '')}`
}

/** The untracked files of a folder that the list matches and that Git ignores. */
async function listIgnored(source: string, list: string): Promise<{ paths: string[]; isCut: boolean }> {
  const args = ['ls-files', '-z', '--others', '--ignored', `--exclude-from=${list}`]
  const { exitCode, stdout, stderr, isCut } = await git(source, args, { cutsOutput: true, timeoutMs: listTimeoutMs })
  if (exitCode !== 0) throw new Problem('CONFLICT', `Git could not list the ignored files to copy: ${stderr.trim()}`)
  // A repository in the folder is listed with a slash.
  const matched = nulSeparated(stdout).filter(path => !path.endsWith('/'))
  if (matched.length === 0) return { paths: [], isCut }
  const ignored = await gitOutput(source, ['check-ignore', '-z', '--stdin'], {
    input: nulTerminated(matched),
    exitCodes: [0, 1],
  })
  return { paths: nulSeparated(ignored), isCut }
}

/** The number of the line whose matching files have the largest total weight. Git itself matches them, in an empty folder. */
async function heaviestLine(
  scratch: string,
  list: string,
  folder: string,
  weights: ReadonlyMap<string, number>,
): Promise<number> {
  const [gitDir, empty] = [join(scratch, 'git'), join(scratch, 'empty')]
  await Promise.all([writeGitFolder(gitDir, undefined, []), mkdir(empty)])
  const names = new Map([...weights].map(([path, weight]) => [join(folder, path), weight]))
  const args = ['-c', `core.excludesFile=${list}`, 'check-ignore', '-v', '-z', '--no-index', '--stdin']
  const output = await gitOutput(empty, args, {
    env: { GIT_DIR: gitDir, GIT_WORK_TREE: empty },
    input: nulTerminated([...names.keys()]),
    maxBytes: 64 * 1024 * 1024,
  })
  const sums = new Map<number, number>()
  // Each match is "file NUL line NUL pattern NUL path NUL".
  const parts = nulSeparated(output)
  for (let at = 0; at < parts.length; at += 4) {
    const line = Number(parts[at + 1])
    sums.set(line, (sums.get(line) ?? 0) + (names.get(parts[at + 3]!) ?? 0))
  }
  return [...sums].reduce((largest, each) => (each[1] > largest[1] ? each : largest))[0]
}

/** The files among the paths, with their real paths. Omits links that point outside the folder, and files in hidden folders. */
async function realFiles(
  source: string,
  paths: readonly string[],
  hidden: readonly string[],
): Promise<Array<{ path: string; real: string; size: number }>> {
  const found = await Promise.all(
    paths.map(async path => {
      const real = await realName(join(source, path)).catch(() => undefined)
      if (real === undefined || !isWithin(source, real) || hidden.some(each => isWithin(each, real))) return []
      const stats = await stat(filePath(real))
      return stats.isFile() ? [{ path, real, size: stats.size }] : []
    }),
  )
  return found.flat()
}

/** @returns whether the file was copied; an existing file stays */
async function copyInto(target: string, path: string, real: string): Promise<boolean> {
  const place = join(target, path)
  const folder = await nearestExisting(target, dirname(place))
  if (!isWithin(target, folder)) return false
  // A link without a target can be in the way of a folder.
  await mkdir(filePath(dirname(place)), { recursive: true }).catch(() => undefined)
  if ((await realName(dirname(place)).catch(() => undefined)) !== dirname(place)) return false
  return copyFile(filePath(real), filePath(place), constants.COPYFILE_EXCL).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
      return false
    },
  )
}

/** The real path of the nearest existing folder. */
async function nearestExisting(target: string, path: string): Promise<string> {
  for (let folder = path; folder.length >= target.length; folder = dirname(folder)) {
    const real = await realName(folder).catch(() => undefined)
    if (real !== undefined) return real
  }
  return target
}
