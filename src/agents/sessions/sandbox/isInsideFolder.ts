import { lstat, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, resolve } from 'node:path'
import { isWithin } from '../../../config/folders.ts'

/** Git runs programs from these paths, and agents read their permissions and hooks there. */
const steering =
  /(^|[\\/])(\.git|\.claude|\.codex|\.gemini|\.qwen|\.opencode|\.copilot|\.mcp\.json|opencode\.jsonc?)([\\/]|$)/i

/**
 * Whether all paths, with every link followed, are in `folder` or in one of `otherFolders`. Relative paths are resolved against `folder`.
 * URLs and paths that start with `~`, `$` or `%` do not count as inside, because they are ambiguous. With `edits`, paths that configure Git
 * or an agent do not count as inside either.
 */
export async function isInsideFolder(
  folder: string,
  paths: readonly string[],
  edits: boolean,
  otherFolders: readonly string[] = [],
): Promise<boolean> {
  const [root, ...others] = await Promise.all(
    [folder, ...otherFolders].map(each => realpath(each).catch(() => undefined)),
  )
  if (root === undefined || paths.length === 0) return false
  for (const path of paths) {
    if (/^[~$%]|:\/\/|[\n]/.test(path)) return false
    const real = await realPlace(isAbsolute(path) ? resolve(path) : resolve(root, path))
    const around = real && [root, ...others].find(each => each !== undefined && isWithin(each, real))
    if (!around || (edits && steering.test(real.slice(around.length)))) return false
  }
  return true
}

/** A path with its links followed, even if it does not exist yet. Undefined for a link with a missing target. */
async function realPlace(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch((error: NodeJS.ErrnoException) => error)
  if (typeof real === 'string') return real
  if (real.code !== 'ENOENT') return undefined
  const isLink = await lstat(path).then(
    () => true,
    () => false,
  )
  const above = dirname(path)
  if (isLink || above === path) return undefined
  const folder = await realPlace(above)
  return folder === undefined ? undefined : resolve(folder, path.slice(above.length).replace(/^[\\/]+/, ''))
}
