import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { dropWorktree } from '../git/cardWorktrees.ts'
import { listPresentCards, listWithWorktree } from '../store/cards.ts'
import type { Database, Transaction } from '../store/database.ts'
import { readProject } from '../store/projects.ts'
import { requireNothingLost } from './worktrees.ts'

/** The worktrees of cards whose rows are gone for good, so that nothing in the database tells of them any more. */
interface Note {
  projectId: number
  projectPath: string
  cards: Array<{ id: number; branch: string | null }>
}

const ending = '.gone.json'
const folderOf = (dataDir: string) => join(dataDir, 'worktrees')

/**
 * Notes in the data folder which worktrees are left when a project or a board is deleted with its cards, in the transaction
 * that does so: `removeGone` removes them. A note that outlives its transaction does no harm.
 * @throws Problem DISK_FULL
 */
export async function noteGone(
  tx: Transaction,
  dataDir: string,
  of: { projectId: number; boardId?: number },
): Promise<void> {
  const [project, cards] = [await readProject(tx, of.projectId), await listWithWorktree(tx, of)]
  if (!project || cards.length === 0) return
  const note: Note = { projectId: project.id, projectPath: project.path, cards }
  try {
    // A transaction waits for nothing but the database.
    mkdirSync(folderOf(dataDir), { recursive: true, mode: 0o700 })
    writeFileSync(join(folderOf(dataDir), `${randomUUID()}${ending}`), JSON.stringify(note), { mode: 0o600 })
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC'
      ? new Problem('DISK_FULL', undefined, { cause: error })
      : error
  }
}

/**
 * Removes the worktrees that were noted, each after saving a patch of what only it holds; their branches stay unless others hold
 * all their commits. Where an agent is still being ended, and where something fails, the note stays for the next time.
 * @throws AggregateError with what failed
 */
export async function removeGone(db: Database, dataDir: string, isAtWork: (cardId: number) => boolean): Promise<void> {
  const failures: unknown[] = []
  const names = await readdir(folderOf(dataDir)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const name of names.filter(each => each.endsWith(ending)))
    await removeNoted(db, dataDir, join(folderOf(dataDir), name), isAtWork).catch(error => failures.push(error))
  if (failures.length > 0)
    throw new AggregateError(
      failures,
      `The worktrees of ${failures.length} deleted projects or boards could not all be removed.`,
    )
}

async function removeNoted(
  db: Database,
  dataDir: string,
  file: string,
  isAtWork: (cardId: number) => boolean,
): Promise<void> {
  const { projectId, projectPath, cards } = JSON.parse(await readFile(file, 'utf8')) as Note
  // In a transaction of its own, which comes after the one that has made the note.
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
  const folder = join(folderOf(dataDir), String(projectId))
  for (const { id, branch } of gone) {
    const path = join(folder, String(id))
    await requireNothingLost({ id, worktreePath: path, gitBranch: branch }, true, dataDir)
    await dropWorktree(projectPath, path, branch)
  }
  await rm(file)
  await rmdir(folder).catch(() => {
    /* Other cards have worktrees there. */
  })
}
