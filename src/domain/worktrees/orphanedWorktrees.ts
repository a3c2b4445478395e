import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { newWorktreePath, worktreesFolder, type WorktreePlaces } from '../../worktrees/worktreePlaces.ts'
import { Problem } from '../../contract/errors.ts'
import { dropWorktree } from '../../worktrees/cardWorktrees.ts'
import { dropSnapshots } from '../../git/snapshotRefs.ts'
import { listPresentCards, listWithLeftovers, type CardLeftovers } from '../../store/cards/cardLeftovers.ts'
import type { Database, Transaction } from '../../store/engine/database.ts'
import { listAgreements, type Agreement } from '../../store/projects/boardFileAgreements.ts'
import { readProject, type ProjectRow } from '../../store/projects/projects.ts'
import { cleanUp, type RunCleanup } from './cleanup.ts'
import { effectiveBy } from './worktreeSettings.ts'
import { dropLeftover, requireAllKept } from './repositoryWorktrees.ts'
import { requireNothingLost } from './worktrees.ts'
import type { Worktrees } from '../../worktrees/worktrees.ts'

/** Worktrees of cards, and snapshots of their reviews, whose rows were deleted. */
interface Note {
  projectId: number
  projectPath: string
  folderRecords: string
  /** The settings for the project's cleanup. */
  settings: Pick<ProjectRow, 'worktree' | 'copiedFiles' | 'sandbox'>
  agreements: Pick<Agreement, 'version' | 'lapsed'>[]
  cards: Array<CardLeftovers & { path: string }>
}

const ending = '.gone.json'

/**
 * Records in the data folder which worktrees remain when a project or board is deleted with its cards, within that transaction.
 * `removeOrphanedWorktrees` removes the worktrees. A record is harmless if its transaction fails.
 * @throws Problem DISK_FULL
 */
export async function recordOrphanedWorktrees(
  tx: Transaction,
  places: WorktreePlaces,
  of: { projectId: number; boardId?: number },
): Promise<void> {
  const [project, cards] = [await readProject(tx, of.projectId), await listWithLeftovers(tx, of)]
  if (!project || cards.length === 0) return
  const note: Note = {
    projectId: project.id,
    projectPath: project.path,
    folderRecords: project.folderRecords,
    settings: { worktree: project.worktree, copiedFiles: project.copiedFiles, sandbox: project.sandbox },
    agreements: await listAgreements(tx, project.id),
    // If the path is not known yet, the worktree might be under construction.
    cards: cards.map(card => ({ ...card, path: card.path ?? newWorktreePath(places, project.id, card.id) })),
  }
  const folder = worktreesFolder(places.dataDir)
  try {
    // Synchronous, because a transaction must only await the database.
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, `${randomUUID()}${ending}`), JSON.stringify(note), { mode: 0o600 })
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC'
      ? new Problem('DISK_FULL', undefined, { cause: error })
      : error
  }
}

/** The locations of recorded worktrees, and the dependencies of their removal. */
interface RemovalDependencies {
  dataDir: string
  /** Whether processes of an agent or a preview might be running there. */
  isAtWork(cardId: number): boolean
  runCleanup: RunCleanup
  worktrees: Worktrees
}

/**
 * Removes the recorded worktrees, each after saving a patch of the work that exists only there, and running its project's
 * cleanup. A branch stays unless other branches contain all its commits. A record stays for the next attempt if an agent is still
 * being ended or an error occurs.
 * @throws AggregateError with the failures
 */
export async function removeOrphanedWorktrees(db: Database, parts: RemovalDependencies): Promise<void> {
  const failures: unknown[] = []
  const notes = worktreesFolder(parts.dataDir)
  const names = await readdir(notes).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const name of names.filter(each => each.endsWith(ending)))
    await removeNoted(db, join(notes, name), parts).catch(error => failures.push(error))
  if (failures.length > 0)
    throw new AggregateError(
      failures,
      `The worktrees of ${failures.length} deleted projects or boards could not all be removed.`,
    )
}

async function removeNoted(db: Database, file: string, parts: RemovalDependencies): Promise<void> {
  const { dataDir, isAtWork, runCleanup, worktrees } = parts
  const note = JSON.parse(await readFile(file, 'utf8')) as Note
  const { projectId, projectPath, folderRecords, settings, agreements, cards } = note
  const folder = { path: projectPath, folderRecords }
  const project = { ...settings, ...folder, id: projectId }
  const effective = await effectiveBy(worktrees, project, agreements)
  // A separate transaction, which runs after the one that wrote the record.
  const present = new Set(
    await db.transaction(tx =>
      listPresentCards(
        tx,
        cards.map(({ id }) => id),
      ),
    ),
  )
  const gone = cards.filter(({ id }) => !present.has(id))
  if (gone.some(({ id }) => isAtWork(id))) return
  const folders = new Set<string>()
  for (const { id, path, branch, snapshots, firstPort, repositories, snapshotsBeside } of gone) {
    folders.add(dirname(path))
    await requireNothingLost(worktrees, folder, { id, worktreePath: path, gitBranch: branch }, true, dataDir)
    await requireAllKept(worktrees, folderRecords, { id }, repositories, true, dataDir)
    await cleanUp(runCleanup, project, effective, { id, path, branch, firstPort, repositories })
    await dropWorktree(worktrees, folder, path, branch)
    for (const each of repositories) await dropLeftover(worktrees, folderRecords, each)
    await dropSnapshots(projectPath, id, snapshots)
    for (const { path: beside, snapshot } of snapshotsBeside) await dropSnapshots(beside, id, [snapshot])
  }
  await rm(file)
  for (const folder of folders)
    await rmdir(folder).catch(() => {
      /* The folder contains worktrees of other cards. */
    })
}
