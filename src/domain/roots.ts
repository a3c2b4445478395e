import { isWithin } from '../config/folders.ts'
import type { Stats } from 'node:fs'
import { lstat, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { ServerConfig } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import type { Reader } from '../store/database.ts'
import type { Caller } from './caller.ts'
import * as projects from './projects.ts'

/** A folder below which a caller may look: as it is named, and where it really is. */
export interface Root {
  path: string
  real: string
}
/** Something below a root. `real` has no links in it. */
export interface Place {
  path: string
  real: string
  stats: Stats
}
/** What is never shown, whatever it is called: the server's data folder. */
export type Hidden = Pick<Stats, 'dev' | 'ino'> | undefined

const maxLinks = 40

/** The folders of the projects that the caller may see; a super_admin's browse root too. Those that are not there are left out. */
export async function rootsOf(config: Pick<ServerConfig, 'browseRoot'>, db: Reader, caller: Caller): Promise<Root[]> {
  const named = (await projects.list(db, caller)).map(({ path }) => path)
  const paths = [...new Set([...(caller.role === 'super_admin' ? [config.browseRoot] : []), ...named])]
  const roots = await Promise.all(
    paths.map(async path => ({ path: resolve(path), real: await realpath(path).catch(() => undefined) })),
  )
  return roots.filter((root): root is Root => root.real !== undefined)
}

export const hiddenIn = async ({ dataDir }: Pick<ServerConfig, 'dataDir'>): Promise<Hidden> =>
  lstat(await realpath(dataDir).catch(() => dataDir)).catch(() => undefined)
export const isHidden = (hidden: Hidden, { dev, ino }: Pick<Stats, 'dev' | 'ino'>): boolean =>
  hidden !== undefined && hidden.ino === ino && hidden.dev === dev

/**
 * Finds what a path names, link by link, without looking anywhere outside of the roots: a link that leads out is refused before it
 * is followed, so that nobody learns from it what exists elsewhere.
 * @throws Problem PATH_NOT_ABSOLUTE, PATH_OUTSIDE_ROOTS, FILE_NOT_FOUND
 */
export async function locate(roots: readonly Root[], hidden: Hidden, path: string): Promise<Place> {
  if (!isAbsolute(path)) throw new Problem('PATH_NOT_ABSOLUTE')
  const asked = resolve(path)
  let { real, names } = enter(roots, asked)
  let stats = await look(real)
  for (let links = 0; ;) {
    if (isHidden(hidden, stats)) throw notFound()
    const name = names.shift()
    if (name === undefined) return { path: asked, real, stats }
    const next = join(real, name)
    stats = await look(next)
    if (!stats.isSymbolicLink()) {
      real = next
      continue
    }
    if (++links > maxLinks) throw notFound()
    const target = await readlink(next).catch(() => {
      throw notFound()
    })
    ;({ real, names } = enter(roots, resolve(real, target, ...names)))
    stats = await look(real)
  }
}

/** The folder above, if it is below a root too. */
export function parentOf(roots: readonly Root[], path: string): string | null {
  const parent = dirname(path)
  return parent !== path && roots.some(root => isWithin(root.path, parent) || isWithin(root.real, parent))
    ? parent
    : null
}

/** Where the way to a path begins, and the names that are left to go. */
function enter(roots: readonly Root[], path: string): { real: string; names: string[] } {
  for (const root of roots) {
    for (const start of [root.real, root.path])
      if (isWithin(start, path)) return { real: root.real, names: relative(start, path).split(sep).filter(Boolean) }
  }
  throw new Problem('PATH_OUTSIDE_ROOTS', 'path must be below the folder of a project that you may see.')
}

const look = (path: string): Promise<Stats> =>
  lstat(path).catch(() => {
    throw notFound()
  })
const notFound = () => new Problem('FILE_NOT_FOUND')

export const nameOf = (path: string): string => basename(path) || path
