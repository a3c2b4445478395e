import { lstat, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, resolve } from 'node:path'
import { isWithin } from '../../config/folders.ts'

/** Git runs programs from there, and agents read their permissions and hooks there. */
const steering =
  /(^|[\\/])(\.git|\.claude|\.codex|\.gemini|\.qwen|\.opencode|\.copilot|\.mcp\.json|opencode\.jsonc?)([\\/]|$)/i

/**
 * Whether all paths, with every link followed, lie in a folder, from where they are relative, or in one `beside` it. Ambiguous paths do not: those with `~`, and URLs. With `edits`, neither
 * do paths that configure Git or an agent.
 */
export async function staysInFolder(
  folder: string,
  paths: readonly string[],
  edits: boolean,
  beside: readonly string[] = [],
): Promise<boolean> {
  const [root, ...others] = await Promise.all([folder, ...beside].map(each => realpath(each).catch(() => undefined)))
  if (root === undefined || paths.length === 0) return false
  for (const path of paths) {
    if (/^[~$%]|:\/\/|[\n]/.test(path)) return false
    const real = await realPlace(isAbsolute(path) ? resolve(path) : resolve(root, path))
    const around = real && [root, ...others].find(each => each !== undefined && isWithin(each, real))
    if (!around || (edits && steering.test(real.slice(around.length)))) return false
  }
  return true
}

/** A path with its links followed, also where nothing is yet; undefined for a link that leads nowhere yet. */
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
