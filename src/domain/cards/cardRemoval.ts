import { Problem } from '../../contract/errors.ts'
import { listPurgeable, purgeCards } from '../../store/cards/cardLeftovers.ts'
import { archivedCardIds, readDeletedCard, type CardRow } from '../../store/cards/cards.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { listDeletedCards, type DeletedCardRow } from '../../store/cards/deletedCards.ts'
import { listDependents } from '../../store/cards/dependencies.ts'
import * as order from '../../store/cards/order.ts'
import { announceParent, changeCard, trashCard } from './cardChanges.ts'
import { announceReady, pullableAfter, resume } from './cardMoves.ts'
import { columnOfProject, find, type StartRef } from './cards.ts'
import { isOrdered, requireRoom } from '../boards/columnLimits.ts'
import { requireBlocksNone } from './dependencies.ts'
import { cancelled, endCard, type Agents } from '../agents/sessions.ts'
import { requireNoNewTurn } from './startPermission.ts'

const restorableMs = 30 * 86_400_000
/** The maximum time for which the removal of many cards blocks other writers. */
const maxRemovalMs = 150
/** Few cards per transaction, because each can have hundreds of sessions and activity entries. */
const maxPurgedAtOnce = 5

/**
 * Moves a card to the trash and ends its agent. `restore` undoes this within 30 days. The caller has checked its worktree. With `force`,
 * removes a card even if others wait for it. They continue to wait.
 * @throws Problem CARD_NOT_FOUND, CARD_BLOCKS_OTHERS, INSUFFICIENT_PERMISSIONS if the card frees a place for another one whose agent the
 * caller cannot start
 */
export async function remove(tx: Transaction, agents: Agents, ref: StartRef, force = false): Promise<void> {
  const card = await find(tx, ref)
  if (!force) await requireBlocksNone(tx, card)
  await requireNoNewTurn(tx, ref.caller, ref.projectId, () => trash(tx, agents, card))
}

async function trash(tx: Transaction, agents: Agents, card: CardRow): Promise<void> {
  await endCard(tx, agents, card.id, cancelled, { all: true })
  await order.removeCard(tx, card)
  await trashCard(tx, card)
  await announceParent(tx, card)
}

/** The cards of a project that `restore` can bring back, the newest deletion first. */
export const listRestorable = async (
  db: Reader,
  filter: { projectId: number; boardId?: number; limit: number; offset: number },
  nowMs: number,
): Promise<Array<DeletedCardRow & { restorableUntil: string }>> =>
  (await listDeletedCards(db, { ...filter, since: new Date(nowMs - restorableMs).toISOString() })).map(card => ({
    ...card,
    restorableUntil: new Date(Date.parse(card.deletedAt) + restorableMs).toISOString(),
  }))

/**
 * Restores a deleted card to the end of its column.
 * @throws Problem CARD_NOT_FOUND, COLUMN_FULL without `force`, INSUFFICIENT_PERMISSIONS if the restored card's agent would start
 */
export async function restore(tx: Transaction, agents: Agents, ref: StartRef, force = false): Promise<CardRow> {
  const card = await readDeletedCard(tx, ref.projectId, ref.cardId)
  if (!card) throw new Problem('CARD_NOT_FOUND')
  if (isOrdered(card) && (card.archivedAt === null || card.columnType === 'archive')) {
    if (!force) await requireRoom(tx, await columnOfProject(tx, ref, card.columnId))
    await order.insertCard(tx, card.columnId, card.id)
  }
  const restored = await changeCard(tx, card, { deletedAt: null, ...pullableAfter(ref, card) }, 'card.restored')
  await announceParent(tx, restored)
  return resume(tx, agents, restored, ref.caller)
}

/**
 * Deletes up to 200 cards of a column, then those archived from it, as many as fit in a short transaction.
 * @returns whether there can be more.
 * @throws Problem COLUMN_NOT_FOUND, INSUFFICIENT_PERMISSIONS as `remove`
 */
export async function removeSome(
  tx: Transaction,
  agents: Agents,
  { projectId, caller }: Pick<StartRef, 'projectId' | 'caller'>,
  columnId: number,
): Promise<boolean> {
  await columnOfProject(tx, { projectId }, columnId)
  const ordered = await order.orderedIds(tx, columnId, 0, 200)
  const ids = ordered.length > 0 ? ordered : await archivedCardIds(tx, projectId, columnId, 200)
  const endMs = performance.now() + maxRemovalMs
  return requireNoNewTurn(tx, caller, projectId, async () => {
    for (const [at, cardId] of ids.entries()) {
      await trash(tx, agents, await find(tx, { projectId, cardId }))
      if (performance.now() > endMs && at + 1 < ids.length) return true
    }
    return ordered.length > 0 || ids.length === 200
  })
}

/**
 * Purges some of the cards that were deleted over 30 days ago. Cards no longer wait for them.
 * @returns the number of purged cards
 */
export async function purge(tx: Transaction, agents: Agents): Promise<number> {
  const ids = await listPurgeable(tx, new Date(Date.parse(tx.now) - restorableMs).toISOString(), maxPurgedAtOnce)
  const dependents = await listDependents(tx, ids)
  await purgeCards(tx, ids)
  await announceReady(tx, agents, dependents, 'board')
  return ids.length
}
