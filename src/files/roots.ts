import { isWithin } from '../config/folders.ts'
import type { Stats } from 'node:fs'
import { lstat, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { ServerConfig } from '../config/server.ts'
import { boardFolders, type WorktreePlaces } from '../worktrees/worktreePlaces.ts'
import { Problem } from '../contract/errors.ts'
import type { Reader } from '../store/engine/database.ts'
import { repositoriesOf } from '../store/projects/projects.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import * as projects from '../domain/projects/projects.ts'

/** A folder that a caller can browse: its path, and its real path. */
export interface Root {
  path: string
  real: string
}
/** A file or folder below a root. `real` contains no links. */
export interface Place {
  path: string
  real: string
  stats: Stats
}
/** Folders that are never shown under any path: the server's data folder, and the folders of worktrees. */
export type Hidden = ReadonlyArray<Pick<Stats, 'dev' | 'ino'>>

const maxLinks = 40

/** The repositories of the projects that the caller can see, and a super_admin's browse root. Missing folders are omitted. */
export async function rootsOf(config: Pick<ServerConfig, 'browseRoot'>, db: Reader, caller: Caller): Promise<Root[]> {
  const named = (await projects.list(db, caller)).flatMap(project => [
    project.path,
    ...repositoriesOf(project).map(({ path }) => path),
  ])
  const paths = [...new Set([...(caller.role === 'super_admin' ? [config.browseRoot] : []), ...named])]
  const roots = await Promise.all(
    paths.map(async path => ({ path: resolve(path), real: await realpath(path).catch(() => undefined) })),
  )
  return roots.filter((root): root is Root => root.real !== undefined)
}

/** The existing folders that are never shown. */
export async function hiddenIn(places: WorktreePlaces): Promise<Hidden> {
  return (await Promise.all(boardFolders(places).map(folder => stat(folder).catch(() => [])))).flat()
}
/** Whether a file or folder is one that is never shown. */
export const isHidden = (hidden: Hidden, { dev, ino }: Pick<Stats, 'dev' | 'ino'>): boolean =>
  hidden.some(each => each.ino === ino && each.dev === dev)

/**
 * Resolves a path link by link without accessing anything outside of the roots: a link that leads out is refused
 * before it is followed, so that it reveals nothing about other files.
 * @throws Problem PATH_NOT_ABSOLUTE, PATH_OUTSIDE_ROOTS, FILE_NOT_FOUND
 */
export async function resolveInRoots(roots: readonly Root[], hidden: Hidden, path: string): Promise<Place> {
  if (!isAbsolute(path)) throw new Problem('PATH_NOT_ABSOLUTE')
  const asked = resolve(path)
  let { real, names } = enter(roots, asked)
  let stats = await statsOf(real)
  for (let links = 0; ;) {
    if (isHidden(hidden, stats)) throw notFound()
    const name = names.shift()
    if (name === undefined) return { path: asked, real, stats }
    const next = join(real, name)
    stats = await statsOf(next)
    if (!stats.isSymbolicLink()) {
      real = next
      continue
    }
    if (++links > maxLinks) throw notFound()
    const target = await readlink(next).catch(() => {
      throw notFound()
    })
    ;({ real, names } = enter(roots, resolve(real, target, ...names)))
    stats = await statsOf(real)
  }
}

/** The parent folder, if it is also below a root. */
export function parentOf(roots: readonly Root[], path: string): string | null {
  const parent = dirname(path)
  return parent !== path && roots.some(root => isWithin(root.path, parent) || isWithin(root.real, parent))
    ? parent
    : null
}

/** The root of a path, and the names below it that are still to be resolved. */
function enter(roots: readonly Root[], path: string): { real: string; names: string[] } {
  for (const root of roots) {
    for (const start of [root.real, root.path])
      if (isWithin(start, path)) return { real: root.real, names: relative(start, path).split(sep).filter(Boolean) }
  }
  throw new Problem('PATH_OUTSIDE_ROOTS', 'path must be in the folder of a project that you can view.')
}

const statsOf = (path: string): Promise<Stats> =>
  lstat(path).catch(() => {
    throw notFound()
  })
const notFound = () => new Problem('FILE_NOT_FOUND')

export const nameOf = (path: string): string => basename(path) || path
