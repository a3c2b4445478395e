import { lstat, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { kindOf } from '../git/kindOf.ts'
import type { OperationResult } from './operations.ts'
import type { WorktreePlace } from './worktreeMounts.ts'
import type { KeptFiles, ProjectFile, Worktrees } from './worktrees.ts'

const maxKept = 500
/** A file that has just changed can change again without a new modification time. */
const settledMs = 2000

/**
 * Reads a small file of a project's folder, which agents can change. A link is not followed. A process is required only for a file
 * that exists and has changed since the last call.
 * @returns null if there is no file
 */
export async function readProjectFile(
  worktrees: Worktrees,
  project: ProjectFolder,
  name: string,
  maxBytes: number,
): Promise<ProjectFile | null> {
  const path = join(project.path, name)
  const stats = await lstat(path, { bigint: true }).catch(() => undefined)
  if (!stats) return null
  const stamp = `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`
  const known = worktrees.keptFiles.get(path)
  if (known?.stamp === stamp) return known.file
  const worktree = await placeOf(project).catch((error: unknown) => {
    if (error instanceof Problem) return error
    throw error
  })
  // Not cached, because a user can confirm the folder without a change of the file.
  if (worktree instanceof Problem) return { content: null, problem: worktree.message }
  const file = await readNow(worktrees, worktree, { path: name, maxBytes })
  if (Number(stats.ctimeMs) < Date.now() - settledMs) saveFile(worktrees.keptFiles, path, { stamp, file })
  return file
}

async function readNow(
  worktrees: Worktrees,
  worktree: WorktreePlace,
  file: { path: string; maxBytes: number },
): Promise<ProjectFile> {
  const parts: Buffer[] = []
  const send = async (bytes: Buffer): Promise<void> => void parts.push(bytes)
  const problem = await worktrees.run('readFolderFile', { worktree, file }, send)
  return problem === null ? { content: Buffer.concat(parts), problem } : { content: null, problem }
}

function saveFile(files: KeptFiles, path: string, entry: { stamp: string; file: ProjectFile }): void {
  const [oldest] = files.keys()
  if (files.size >= maxKept && oldest !== undefined) files.delete(oldest)
  files.set(path, entry)
}

/** Lists the slash commands in a project's folder. Returns none if the folder is missing, or is not the recorded one. */
export async function listSlashCommands(
  worktrees: Worktrees,
  project: ProjectFolder,
): Promise<OperationResult<'readSlashCommands'>> {
  if ((await kindOf(await realpath(project.path).catch(() => project.path))) !== 'folder') return []
  const worktree = await placeOf(project).catch((error: unknown) => {
    if (!(error instanceof Problem)) throw error
  })
  return worktree ? worktrees.run('readSlashCommands', { worktree }) : []
}

/** Finds the folders that an operation on a project's folder requires. */
async function placeOf(project: ProjectFolder): Promise<WorktreePlace> {
  const [topLevel, repository] = await Promise.all([realpath(project.path), findProjectRepository(project)])
  return repository?.topLevel === topLevel ? repository : { topLevel }
}
