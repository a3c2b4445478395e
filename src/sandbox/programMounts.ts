import { realpath, stat } from 'node:fs/promises'
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path'
import { isWithin } from '../config/folders.ts'
import { findProgram } from '../process/findProgram.ts'
import type { Mount } from './mount.ts'
import { isOfSystem } from './systemMounts.ts'

/**
 * The programs that a session can run in addition to the system's, read-only: those of its search path, its own command, and the
 * files that the command and the environment name.
 * @param home the account's home folder, which is never shown as a whole
 */
export async function programMounts(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  home: string,
): Promise<Mount[]> {
  const searched = (env.PATH ?? '').split(delimiter).filter(isAbsolute)
  const program = argv[0] === undefined ? null : await findProgram(argv[0], env.PATH ?? '')
  const named = [...(program === null ? [] : [program]), ...argv.slice(1), process.execPath]
  const tools = (await Promise.all(named.filter(isAbsolute).map(toolOf))).flat()
  const shown = [...new Set([...searched.flatMap(toolFolders), ...tools])]
  // Paths that the account cannot resolve are omitted, because bubblewrap cannot mount them either.
  const reached = await Promise.all(
    shown.map(path =>
      realpath(path)
        .then(real => [path, real])
        .catch(() => []),
    ),
  )
  const all = [...new Set(reached.flat())].filter(
    path => !isOfSystem(path) && !isWithin(path, home) && !shared.includes(path),
  )
  // A path inside another one is shown with it. A link there works once its target is also shown.
  return all
    .filter(path => !all.some(other => other !== path && isWithin(other, path)))
    .map(target => ({ kind: 'ro', target }))
}

/** Folders that contain more than programs. */
const shared = ['/tmp', '/var/tmp', '/var', '/run', '/dev/shm']

/** Folders that programs need next to their own: `~/.nvm/versions/node/v20/bin` requires the `lib` next to it. */
const parts = ['lib', 'lib64', 'libexec', 'include', 'versions', 'plugins', 'shims']

/**
 * A folder of programs, with the folders that they need next to it. Never the whole parent folder: `~/.cargo` contains keys, and a project
 * can have a `bin` as well.
 */
function toolFolders(folder: string): string[] {
  if (!['bin', 'sbin', 'shims'].includes(basename(folder))) return [folder]
  const above = dirname(folder)
  const toolchains = basename(above) === '.cargo' ? [join(dirname(above), '.rustup')] : []
  return [folder, ...toolchains, ...parts.map(part => join(above, part))]
}

/** A file that a command names, with its package or folder. */
async function toolOf(path: string): Promise<string[]> {
  const stats = await stat(path).catch(() => undefined)
  if (!stats?.isFile()) return []
  const real = await realpath(path)
  return [path, real].flatMap(each => {
    const packages = each.indexOf('/node_modules/')
    return packages >= 0 ? [each.slice(0, packages + '/node_modules'.length)] : [each, ...toolFolders(dirname(each))]
  })
}
