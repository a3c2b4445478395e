import { lstat, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { configurationOf, type ConfigurationEntry } from './configuration.ts'
import { keepsFiles } from './refFiles.ts'
import { readPlain } from './untrustedFiles.ts'
import { readPlainHead, type Repository, type WorkingTree } from './workingTrees.ts'

const maxPointerBytes = 8192
/** With other extensions, Git reads a repository differently, or not at all. */
const knownExtensions = new Set(['extensions.objectformat', 'extensions.noop', 'extensions.preciousobjects'])

/**
 * Reads the repository whose working tree contains a folder, without a Git process. Supports the usual form only: the folder belongs to the
 * account, the refs are files, and the branch has a commit. Undefined if Git must be called instead.
 * @param real without links
 */
export async function readPlainRepository(real: string): Promise<Repository | undefined> {
  const place = await placeOf(real)
  if (!place || !(await keepsFiles(place.commonDir)) || !isUsual(await configurationOf(place))) return undefined
  return readPlainHead(place)
}

/** Looks for `.git` as Git does: upwards on one file system. */
async function placeOf(real: string): Promise<WorkingTree | undefined> {
  const { dev } = await lstat(real)
  for (let topLevel = real; ; topLevel = dirname(topLevel)) {
    const pointer = join(topLevel, '.git')
    const [folder, found] = await Promise.all([lstat(topLevel), lstat(pointer).catch(() => undefined)])
    if (folder.dev !== dev) return undefined
    if (found === undefined && dirname(topLevel) !== topLevel) continue
    // Git might refuse another account's repository.
    if (!found || !isOwn(found) || !isOwn(folder)) return undefined
    if (found.isDirectory()) return placeWith(topLevel, pointer, pointer)
    const named = found.isFile() && /^gitdir: (.+?)\n?$/.exec(await readPlain(pointer, maxPointerBytes))?.[1]
    return named ? linkedPlace(topLevel, await realpath(resolve(topLevel, named))) : undefined
  }
}

/** A linked worktree. Submodules have no common folder. */
async function linkedPlace(topLevel: string, gitDir: string): Promise<WorkingTree | undefined> {
  const common = await readPlain(join(gitDir, 'commondir'), maxPointerBytes).catch(() => undefined)
  if (common?.trimEnd() !== '../..' || !isOwn(await lstat(gitDir))) return undefined
  return placeWith(topLevel, gitDir, dirname(dirname(gitDir)))
}

async function placeWith(topLevel: string, gitDir: string, commonDir: string): Promise<WorkingTree | undefined> {
  const [common, ...folders] = await Promise.all(
    [commonDir, join(commonDir, 'objects'), join(commonDir, 'refs')].map(path => lstat(path).catch(() => undefined)),
  )
  const isGitFolder = common && isOwn(common) && folders.every(folder => folder?.isDirectory())
  const planted = gitDir === commonDir && (await lstat(join(commonDir, 'commondir')).catch(() => undefined))
  return isGitFolder && !planted ? { topLevel, gitDir, commonDir } : undefined
}

const isOwn = ({ uid }: { uid: number }): boolean => uid === process.getuid?.()

function isUsual(entries: readonly ConfigurationEntry[]): boolean {
  // Git itself could not read a repository without this setting.
  if (!entries.some(({ name }) => name === 'core.repositoryformatversion')) return false
  return entries.every(({ name, value }) => {
    if (name === 'core.worktree' || (name.startsWith('extensions.') && !knownExtensions.has(name))) return false
    if (name === 'core.bare') return value === 'false'
    return name !== 'core.repositoryformatversion' || value === '0' || value === '1'
  })
}
