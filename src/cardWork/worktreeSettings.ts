import { Problem } from '../contract/errors.ts'
import {
  noWorktreeSettings,
  type EffectiveWorktree,
  type FoundBoardFile,
  type ProjectWorktree,
  type WorktreeSettings,
} from '../contract/projects/worktree.ts'
import { appendEvent } from '../events/outbox.ts'
import {
  deleteAgreements,
  insertAgreement,
  lapseAgreement,
  listAgreements,
  type Agreement,
} from '../store/projects/boardFileAgreements.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import { worktreeOf, type ProjectRow } from '../store/projects/projects.ts'
import { projectEvent } from '../views/projects.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { readBaseVersion, readBoardFile, type ReadBoardFile } from './boardFile.ts'
import type { Caller } from '../domain/accounts/caller.ts'

type Project = Pick<ProjectRow, 'id' | 'path' | 'folderRecords' | 'worktree' | 'copiedFiles'>

/**
 * Returns how a project's worktrees are prepared: by its own settings, then by its board.json if a member has agreed to the file's current
 * version. If this finds another version, the agreement lapses. Commands run in the sandbox of the project's agents.
 */
export async function findWorktreeSettings(
  worktrees: Worktrees,
  db: Database,
  project: Project,
): Promise<ProjectWorktree> {
  const settings = worktreeOf(project)
  // Read before the file, because an agreement made afterwards must not lapse because of an earlier version.
  const agreements = await listAgreements(db, project.id)
  const file = await readBoardFile(worktrees, project)
  const current = agreements.find(({ lapsed }) => lapsed === 0)
  if (current && !file?.problem && file?.version !== current.version)
    await db.transaction(tx => lapseAgreement(tx, project.id, current.version))
  const agreement = file && (await findAgreement(project, file, agreements))
  const boardFile = file && {
    ...file,
    agreed: agreement ? { by: agreement.agreedBy || null, at: agreement.createdAt } : null,
  }
  return { settings, boardFile, effective: effectiveOf(settings, (agreement && file.settings) || noWorktreeSettings) }
}

/** Returns how the worktrees of a project that might be deleted are prepared, by the agreements that it had. */
export async function effectiveBy(
  worktrees: Worktrees,
  project: Pick<Project, 'path' | 'folderRecords' | 'worktree' | 'copiedFiles'>,
  agreements: readonly Pick<Agreement, 'version' | 'lapsed'>[],
): Promise<EffectiveWorktree> {
  const file = await readBoardFile(worktrees, project)
  const agreement = file && (await findAgreement(project, file, agreements))
  return effectiveOf(worktreeOf(project), (agreement && file.settings) || noWorktreeSettings)
}

/** Returns the agreement to the version of a board.json. A lapsed agreement applies while the base branch has exactly this version. */
async function findAgreement<A extends Pick<Agreement, 'version' | 'lapsed'>>(
  project: ProjectFolder,
  { version }: ReadBoardFile,
  agreements: readonly A[],
): Promise<A | undefined> {
  const agreement = agreements.find(each => each.version === version)
  return agreement?.lapsed && (await readBaseVersion(project)) !== version ? undefined : agreement
}

/**
 * Agrees to the version of a project's board.json that the caller has seen.
 * @throws Problem CONFLICT if the version has changed, or cannot be used
 */
export async function requireVersion(worktrees: Worktrees, project: ProjectFolder, version: string): Promise<void> {
  const file = await readBoardFile(worktrees, project)
  if (!file) throw new Problem('CONFLICT', "There is no board.json in the project's folder.")
  if (file.problem !== null) throw new Problem('CONFLICT', `board.json cannot be used: ${file.problem}.`)
  if (file.version !== version)
    throw new Problem('CONFLICT', 'board.json has changed since this version. Review it again before you agree.')
}

/** Records the agreement. The caller has checked the version. */
export async function agreeToBoardFile(
  tx: Transaction,
  caller: Caller,
  project: ProjectRow,
  version: string,
): Promise<void> {
  await insertAgreement(tx, project.id, { version, agreedBy: caller.displayName })
  await appendEvent(tx, 'project.updated', project.id, projectEvent(project))
}

export async function withdrawAgreement(tx: Transaction, project: ProjectRow): Promise<void> {
  await deleteAgreements(tx, project.id)
  await appendEvent(tx, 'project.updated', project.id, projectEvent(project))
}

/** Why board.json is not used, for the transcript of a session. Undefined if it is used, or if there is none. */
export function whyUnused(projectId: number, boardFile: FoundBoardFile | null): string | undefined {
  if (!boardFile || boardFile.agreed) return undefined
  return boardFile.problem === null
    ? `board.json is not used: a member must agree to its current version. To see it and agree: board projects worktree ${projectId} --agree`
    : `board.json is not used: ${boardFile.problem}.`
}

function effectiveOf({ copiedFiles, ...own }: WorktreeSettings, file: EffectiveWorktree): EffectiveWorktree {
  const set = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== null))
  const { ports, ...effective } = { ...file, ...set } as EffectiveWorktree
  return {
    ...effective,
    // A preview needs a port.
    ports: effective.preview === '' ? ports : Math.max(1, ports),
    // The last pattern that matches a file decides, so the project's own take precedence.
    copiedFiles: [...new Set([...file.copiedFiles, ...copiedFiles].reverse())].reverse(),
  }
}
