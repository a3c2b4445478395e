import { Problem } from '../contract/errors.ts'
import { listPurgeable, purgeCards } from '../store/cardLeftovers.ts'
import { archivedCardIds, readDeletedCard, type CardRow } from '../store/cards.ts'
import type { Transaction } from '../store/database.ts'
import { listDependents } from '../store/dependencies.ts'
import * as order from '../store/order.ts'
import { announceParent, changeCard, trashCard } from './cardChanges.ts'
import { announceReady, pullableAfter, resume } from './cardMoves.ts'
import { columnOfProject, find, type CardRef } from './cards.ts'
import { isOrdered, requireRoom } from './columnLimits.ts'
import { requireBlocksNone } from './dependencies.ts'
import { cancelled, endCard, type Agents } from './sessions.ts'

const restorableMs = 30 * 86_400_000
/** How long removing many cards may block other writers. */
const maxRemovalMs = 150
/** A card has hundreds of sessions and entries, at times. */
const maxPurgedAtOnce = 5

/**
 * Moves a card to the trash and ends its agent; `restore` undoes it within 30 days. The caller has checked its
 * worktree. With `force` also one that others wait for, which go on waiting.
 * @throws Problem CARD_NOT_FOUND, CARD_BLOCKS_OTHERS
 */
export async function remove(tx: Transaction, agents: Agents, ref: CardRef, force = false): Promise<void> {
  const card = await find(tx, ref)
  if (!force) await requireBlocksNone(tx, card)
  await endCard(tx, agents, card.id, cancelled, { all: true })
  await order.removeCard(tx, card)
  await trashCard(tx, card)
  await announceParent(tx, card)
}

/** Restores a deleted card to the end of its column. @throws Problem CARD_NOT_FOUND, COLUMN_FULL without `force` */
export async function restore(tx: Transaction, agents: Agents, ref: CardRef, force = false): Promise<CardRow> {
  const card = await readDeletedCard(tx, ref.projectId, ref.cardId)
  if (!card) throw new Problem('CARD_NOT_FOUND')
  if (isOrdered(card) && (card.archivedAt === null || card.columnType === 'archive')) {
    if (!force) await requireRoom(tx, await columnOfProject(tx, ref, card.columnId))
    await order.insertCard(tx, card.columnId, card.id)
  }
  const restored = await changeCard(tx, card, { deletedAt: null, ...pullableAfter(ref, card) }, 'card.restored')
  await announceParent(tx, restored)
  return resume(tx, agents, restored)
}

/**
 * Deletes at most 200 cards of a column, then those archived from it, as many as a short transaction has time for.
 * @returns whether there may be more. @throws Problem COLUMN_NOT_FOUND
 */
export async function removeSome(
  tx: Transaction,
  agents: Agents,
  projectId: number,
  columnId: number,
): Promise<boolean> {
  await columnOfProject(tx, { projectId }, columnId)
  const ordered = await order.orderedIds(tx, columnId, 0, 200)
  const ids = ordered.length > 0 ? ordered : await archivedCardIds(tx, projectId, columnId, 200)
  const endMs = performance.now() + maxRemovalMs
  for (const [at, cardId] of ids.entries()) {
    await remove(tx, agents, { projectId, cardId }, true)
    if (performance.now() > endMs && at + 1 < ids.length) return true
  }
  return ordered.length > 0 || ids.length === 200
}

/** Purges some of the cards that were deleted over 30 days ago; nothing waits for them any more. @returns how many */
export async function purge(tx: Transaction, agents: Agents): Promise<number> {
  const ids = await listPurgeable(tx, new Date(Date.parse(tx.now) - restorableMs).toISOString(), maxPurgedAtOnce)
  const dependents = await listDependents(tx, ids)
  await purgeCards(tx, ids)
  for (const { id, projectId } of dependents) await announceReady(tx, agents, projectId, id)
  return ids.length
}
