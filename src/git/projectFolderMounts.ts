import { lstat, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Mount } from '../sandbox/mount.ts'
import { kindOf } from './kindOf.ts'
import type { Repository } from './repository.ts'
import { shadowsOf } from './shadow.ts'

const maxModules = 1000
const maxLevels = 8

/**
 * The mounts of a session that works in a project's own folder: the repository is writable, but for what starts programs or
 * belongs to other worktrees.
 */
export async function projectFolderMounts({ topLevel, commonDir }: Repository): Promise<Mount[]> {
  const mounts: Mount[] = [{ kind: 'rw', source: commonDir, target: commonDir }, ...(await guards(commonDir))]
  for (const module of await modulesIn(join(commonDir, 'modules'), 0)) mounts.push(...(await guards(module)))
  const worktrees = join(commonDir, 'worktrees')
  await mkdir(worktrees, { recursive: true })
  mounts.push({ kind: 'ro', source: worktrees, target: worktrees })
  // What agents in worktrees have made: the server mounts folders of it.
  await mkdir(shadowsOf(commonDir), { recursive: true, mode: 0o700 })
  mounts.push({ kind: 'tmpfs', target: shadowsOf(commonDir) })
  const pointer = join(topLevel, '.git')
  if ((await kindOf(pointer)) === 'file') mounts.push({ kind: 'ro', source: pointer, target: pointer })
  return mounts
}

/** Hooks, configuration and attributes are made if missing: what is no mount could be made by the agent. */
async function guards(gitDir: string): Promise<Mount[]> {
  const paths = [
    ...['hooks', 'info'].map(name => ({ path: join(gitDir, name), isFolder: true })),
    ...['config', 'config.worktree'].map(name => ({ path: join(gitDir, name), isFolder: false })),
  ]
  for (const { path, isFolder } of paths) {
    if (await lstat(path).catch(() => undefined)) continue
    await (isFolder ? mkdir(path) : writeFile(path, '', { flag: 'wx' }))
  }
  return paths.map(({ path }) => ({ kind: 'ro', source: path, target: path }))
}

/** The Git folders of submodules, whose names may have slashes. */
async function modulesIn(folder: string, level: number): Promise<string[]> {
  if (level > maxLevels || (await kindOf(folder)) !== 'folder') return []
  const found: string[] = []
  for (const entry of (await readdir(folder, { withFileTypes: true })).filter(each => each.isDirectory())) {
    const path = join(folder, entry.name)
    const isModule = (await kindOf(join(path, 'HEAD'))) === 'file'
    if (isModule) found.push(path)
    found.push(...(await modulesIn(isModule ? join(path, 'modules') : path, level + 1)))
    if (found.length > maxModules) break
  }
  return found
}
