import { Problem } from '../contract/errors.ts'
import {
  noWorktreeSettings,
  type EffectiveWorktree,
  type FoundBoardFile,
  type ProjectWorktree,
  type WorktreeSettings,
} from '../contract/worktree.ts'
import { append } from '../events/outbox.ts'
import { deleteAgreements, insertAgreement, readAgreement } from '../store/boardFileAgreements.ts'
import type { Reader, Transaction } from '../store/database.ts'
import { worktreeOf, type ProjectRow } from '../store/projects.ts'
import { projectEvent } from '../views/projects.ts'
import { readBoardFile, type ReadBoardFile } from './boardFile.ts'
import type { Caller } from './caller.ts'

type Project = Pick<ProjectRow, 'id' | 'path' | 'worktree' | 'copiedFiles'>

/**
 * How a project's worktrees are prepared: its own settings, then its board.json, once a member has agreed to this version of it. What
 * runs is in the sandbox of the project's agents.
 */
export async function findWorktreeSettings(db: Reader, project: Project): Promise<ProjectWorktree> {
  const settings = worktreeOf(project)
  const file = await readBoardFile(project.path)
  const boardFile = file && (await withAgreement(db, project.id, file))
  const usable = boardFile?.agreed ? boardFile.settings : null
  return { settings, boardFile, effective: effectiveOf(settings, usable ?? noWorktreeSettings) }
}

/** What holds for a project that may be gone, by the versions of its board.json that were agreed to. */
export async function effectiveBy(
  project: Pick<Project, 'path' | 'worktree' | 'copiedFiles'>,
  versions: readonly string[],
): Promise<EffectiveWorktree> {
  const file = await readBoardFile(project.path)
  const isAgreed = file?.problem === null && versions.includes(file.version)
  return effectiveOf(worktreeOf(project), isAgreed ? file.settings : noWorktreeSettings)
}

/**
 * Agrees to the version of a project's board.json that the caller has seen.
 * @throws Problem CONFLICT when it is another one by now, or cannot be used
 */
export async function requireVersion(project: Pick<ProjectRow, 'path'>, version: string): Promise<void> {
  const file = await readBoardFile(project.path)
  if (!file) throw new Problem('CONFLICT', "There is no board.json in the project's folder.")
  if (file.problem !== null) throw new Problem('CONFLICT', `board.json cannot be used: ${file.problem}.`)
  if (file.version !== version)
    throw new Problem('CONFLICT', 'board.json has changed since that version. Read it again before you agree.')
}

/** The caller has checked the version. */
export async function agree(tx: Transaction, caller: Caller, project: ProjectRow, version: string): Promise<void> {
  await insertAgreement(tx, project.id, { version, agreedBy: caller.displayName })
  await append(tx, 'project.updated', project.id, projectEvent(project))
}

export async function withdraw(tx: Transaction, project: ProjectRow): Promise<void> {
  await deleteAgreements(tx, project.id)
  await append(tx, 'project.updated', project.id, projectEvent(project))
}

/** Why board.json is not used, for the transcript of a session; undefined where it is, or where there is none. */
export function whyUnused(projectId: number, boardFile: FoundBoardFile | null): string | undefined {
  if (!boardFile || boardFile.agreed) return undefined
  return boardFile.problem === null
    ? `board.json is not used: nobody has agreed to this version of it. To see it and agree: board projects worktree ${projectId} --agree`
    : `board.json is not used: ${boardFile.problem}.`
}

async function withAgreement(db: Reader, projectId: number, file: ReadBoardFile): Promise<FoundBoardFile> {
  const agreement = file.version === null ? undefined : await readAgreement(db, projectId, file.version)
  return { ...file, agreed: agreement ? { by: agreement.agreedBy || null, at: agreement.createdAt } : null }
}

function effectiveOf({ copiedFiles, ...own }: WorktreeSettings, file: EffectiveWorktree): EffectiveWorktree {
  const set = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== null))
  const { ports, ...effective } = { ...file, ...set } as EffectiveWorktree
  return {
    ...effective,
    // What is served needs a port.
    ports: effective.preview === '' ? ports : Math.max(1, ports),
    copiedFiles: [...new Set([...copiedFiles, ...file.copiedFiles])],
  }
}
