import { mkdir, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { Problem } from '../contract/errors.ts'
import { append } from '../events/outbox.ts'
import { savePatch } from '../git/patch.ts'
import { belongsTo, isClean } from '../git/worktrees.ts'
import { updateCard, type CardRow } from '../store/cards.ts'
import type { Transaction } from '../store/database.ts'
import { cardDetail } from '../views/cards.ts'
import { find, type CardRef } from './cards.ts'

/**
 * Sees to it that deleting a card loses no work in its worktree: without `force` a worktree with
 * uncommitted changes or commits of its own is refused, with it they are saved as a patch in the data folder first.
 * @throws Problem WORKTREE_DIRTY
 */
export async function requireNothingLost(card: CardRow, force: boolean, dataDir: string): Promise<void> {
  const path = card.worktreePath
  if (path === null || await stat(path).catch(() => undefined) === undefined || await isClean(path, card.gitBranch)) return
  if (!force) throw new Problem('WORKTREE_DIRTY')
  const patches = join(dataDir, 'patches')
  await mkdir(patches, { recursive: true, mode: 0o700 })
  await savePatch(path, card.gitBranch, join(patches, `card-${card.id}-${Date.now()}.patch`))
}

/**
 * Checks that a folder is a worktree of the project's repository and returns its real path.
 * @throws Problem PATH_NOT_ABSOLUTE, PATH_NOT_FOUND, NOT_A_GIT_REPOSITORY
 */
export async function requireWorktree(path: string, projectPath: string): Promise<string> {
  if (!isAbsolute(path)) throw new Problem('PATH_NOT_ABSOLUTE')
  const real = await realpath(path).catch(() => { throw new Problem('PATH_NOT_FOUND') })
  if (!(await stat(real)).isDirectory()) throw new Problem('PATH_NOT_FOUND')
  if (!await belongsTo(real, projectPath)) throw new Problem('NOT_A_GIT_REPOSITORY', 'path must be a worktree of the project\'s repository.')
  return real
}

/** Attaches a person's own worktree to a card. @throws Problem CARD_NOT_FOUND, CONFLICT when the card has one already */
export async function attach(tx: Transaction, ref: CardRef, path: string, branch: string | null): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.worktreePath !== null && card.worktreePath !== path) throw new Problem('CONFLICT', 'The card has a worktree already; detach it first.')
  await updateCard(tx, card.id, { worktreePath: path, worktreeManaged: false, gitBranch: branch })
  return announce(tx, ref)
}

/** Detaches a card's worktree; the folder stays as it is. @throws Problem CARD_NOT_FOUND, CONFLICT when it has none */
export async function detach(tx: Transaction, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  if (card.worktreePath === null) throw new Problem('CONFLICT', 'The card has no worktree.')
  await updateCard(tx, card.id, { worktreePath: null, worktreeManaged: false, gitBranch: null })
  return announce(tx, ref)
}

async function announce(tx: Transaction, ref: CardRef): Promise<CardRow> {
  const card = await find(tx, ref)
  await append(tx, 'card.updated', ref.projectId, cardDetail(card))
  return card
}
