import type { Reader, Transaction } from '../engine/database.ts'
import {
  addLeaf,
  addNode,
  dropLeaf,
  encodeId,
  shiftLeaf,
  leafAt,
  leafOf,
  maxLeafIds,
  minLeafIds,
  placeOf,
  setIds,
  setLeafOfCard,
  setLeafOfCards,
  setLength,
  shiftAfter,
  shiftBetween,
  splitIds,
  endPosition,
  idWidth,
  withId,
  withoutId,
  type Leaf,
} from './orderLeaves.ts'

/*
 * The order of a column's cards, stored as a list of two levels. A column has nodes, a node has leaves, and a leaf has the IDs of
 * up to 128 cards. A leaf stores its start, the number of cards that precede it in its node. A node stores the number of cards
 * that precede it in the column. The place of a card is the sum of both starts and its index in the leaf. Places have no gaps.
 *
 * Reading a place reads one leaf and two starts. A change writes one leaf and the starts of the leaves and nodes that follow,
 * regardless of the number of cards. The starts have no index, because maintaining one costs more than scanning a few (measured:
 * 145 against 109 µs per move at 10,000 cards).
 */

/** SQL of a card's place, for a query that joins `cards c` with `placeJoins`. NULL outside the order. */
export const placeSql = `(p.start + s.start + (instr(k.ids, printf(',%08x', c.id)) - 1) / ${idWidth})`
export const placeJoins =
  'LEFT JOIN column_leaves k ON k.id = c.leaf_id LEFT JOIN node_leaves s ON s.leaf_id = c.leaf_id LEFT JOIN column_nodes p ON p.id = s.node_id'

type Ordered = { id: number; columnId: number; leafId: number | null }

/** Inserts a card into a column: at the zero-based place, or at the end if the place is beyond the end or missing. */
export async function insertCard(
  tx: Transaction,
  columnId: number,
  cardId: number,
  position = endPosition,
): Promise<void> {
  const leaf = await leafAt(tx, columnId, position)
  setLeafOfCard(tx, cardId, await insertAt(tx, columnId, leaf, cardId, position))
}

/**
 * Moves a card to a place in a column, as `insertCard` does. Within a column, only the cards between the two places are
 * renumbered.
 * @returns the leaf for the card's row. The caller writes it together with its other changes: one write of a row instead of two
 * halves the cost
 */
export async function moveCard(
  tx: Transaction,
  card: Ordered,
  columnId: number,
  position = endPosition,
): Promise<number> {
  if (card.leafId === null || card.columnId !== columnId) {
    // Read before any write. Removing the card from the other column does not change this one.
    const target = await leafAt(tx, columnId, position)
    await removeFromOrder(tx, card)
    return insertAt(tx, columnId, target, card.id, position)
  }
  const source = await leafOf(tx, card.id)
  const target = await targetOf(tx, columnId, source, position)
  const rest = withoutId(source, card.id)
  if (target.leafId === source.leafId) {
    setIds(tx, source.leafId, withId(rest, card.id, position - placeOf(source)))
    return source.leafId
  }
  shiftBetween(tx, columnId, source, target)
  const isUp = placeOf(target) < placeOf(source)
  const [from, to] = isUp ? [shiftLeaf(rest, target, 1), target] : [rest, shiftLeaf(target, source, -1)]
  const leafId = await insertInto(tx, columnId, to, card.id, position - placeOf(to))
  const merged = await removeFromLeaf(tx, columnId, from)
  return leafId === merged ? from.leafId : leafId
}

/** The leaf for a card of `source` that moves to a position of its column. The position counts without the card. */
async function targetOf(tx: Transaction, columnId: number, source: Leaf, position: number): Promise<Leaf> {
  const index = position - placeOf(source)
  if (index >= 0 && index < source.length) return source
  // Without the card, each leaf after the source starts one place earlier than stored.
  const stored = index < 0 ? position : Math.min(position, endPosition - 1) + 1
  return (await leafAt(tx, columnId, stored))!
}

/** Appends cards to a column in the order of `cardIds`, with a few statements per leaf. The cards must not be in any column. */
export async function appendCards(tx: Transaction, columnId: number, cardIds: readonly number[]): Promise<void> {
  if (cardIds.length < minLeafIds) {
    for (const id of cardIds) await insertCard(tx, columnId, id)
    return
  }
  for (let from = 0; from < cardIds.length; from += maxLeafIds) {
    const ids = cardIds.slice(from, from + maxLeafIds).map(encodeId)
    const last = await leafAt(tx, columnId, endPosition)
    if (last) tx.enqueue('UPDATE column_nodes SET length = length + ? WHERE id = ?', [ids.length, last.nodeId])
    const node = last
      ? { id: last.nodeId, start: last.start + last.length }
      : { id: await addNode(tx, columnId, 0, ids.length), start: 0 }
    setLeafOfCards(tx, await addLeaf(tx, columnId, node, ids), ids)
  }
}

/** Removes a card from its column's order, and closes the gap. */
export async function removeCard(tx: Transaction, card: Ordered): Promise<void> {
  await removeFromOrder(tx, card)
  if (card.leafId !== null) setLeafOfCard(tx, card.id, null)
}

/** The number of cards in a column's order. */
export async function countOrdered(db: Reader, columnId: number): Promise<number> {
  return (await db.get<{ count: number }>(
    'SELECT coalesce(sum(length), 0) AS count FROM column_nodes WHERE column_id = ?',
    [columnId],
  ))!.count
}

/** The IDs of a column's cards in order, `limit` of them from the place `offset`. */
export async function orderedIds(db: Reader, columnId: number, offset: number, limit: number): Promise<number[]> {
  const leaves = await db.all<{ start: number; ids: string }>(
    `SELECT p.start + s.start AS start, k.ids FROM column_nodes p JOIN node_leaves s ON s.node_id = p.id JOIN column_leaves k ON k.id = s.leaf_id
     WHERE p.column_id = ?1 AND p.start < ?2 AND p.start + p.length > ?3 AND p.start + s.start < ?2 AND p.start + s.start + s.length > ?3 ORDER BY p.start + s.start`,
    [columnId, offset + limit, offset],
  )
  const skipped = leaves[0] ? Math.max(0, offset - leaves[0].start) : 0
  return leaves
    .flatMap(leaf => splitIds(leaf.ids))
    .slice(skipped, skipped + limit)
    .map(text => Number.parseInt(text.slice(1), 16))
}

/** Removes a card from its column's order. Does not change the leaf reference in its row. */
async function removeFromOrder(tx: Transaction, card: Ordered): Promise<void> {
  if (card.leafId === null) return
  const leaf = await leafOf(tx, card.id)
  shiftAfter(tx, card.columnId, leaf, -1)
  await removeFromLeaf(tx, card.columnId, withoutId(leaf, card.id))
}

/**
 * Shifts the following cards, and inserts the card into the leaf of its place, or into the first one of an empty column.
 * @returns its leaf
 */
async function insertAt(
  tx: Transaction,
  columnId: number,
  leaf: Leaf | undefined,
  cardId: number,
  position: number,
): Promise<number> {
  if (!leaf) return addLeaf(tx, columnId, { id: await addNode(tx, columnId, 0, 1), start: 0 }, [encodeId(cardId)])
  shiftAfter(tx, columnId, leaf, 1)
  return insertInto(tx, columnId, leaf, cardId, position - placeOf(leaf))
}

/**
 * Inserts a card into a leaf, at the end if the place is beyond it. The starts and lengths are already shifted. A full leaf is
 * split in the middle, unless the card is before or after all others: it then gets its own leaf, because each card that changes
 * its leaf costs the write of a row.
 * @returns the leaf that contains it
 */
async function insertInto(
  tx: Transaction,
  columnId: number,
  leaf: Leaf,
  cardId: number,
  place: number,
): Promise<number> {
  const { leafId, nodeId, start, length } = leaf
  const ids = withId(leaf, cardId, place)
  if (length < maxLeafIds) {
    setIds(tx, leafId, ids)
    return leafId
  }
  if (place === 0) {
    tx.enqueue('UPDATE node_leaves SET start = ?, length = ? WHERE leaf_id = ?', [start + 1, length, leafId])
    return addLeaf(tx, columnId, { id: nodeId, start }, [encodeId(cardId)])
  }
  const kept = place >= length ? length : Math.ceil((length + 1) / 2)
  const moved = splitIds(ids.slice(kept * idWidth))
  setIds(tx, leafId, ids.slice(0, kept * idWidth))
  setLength(tx, leafId, kept)
  const newId = await addLeaf(tx, columnId, { id: nodeId, start: start + kept }, moved)
  setLeafOfCards(tx, newId, moved)
  return place < kept ? leafId : newId
}

/**
 * Stores a leaf without a removed card. The starts and lengths are already shifted.
 * @returns the ID of the neighbor that was merged into it, if any
 */
async function removeFromLeaf(tx: Transaction, columnId: number, leaf: Leaf): Promise<number | undefined> {
  if (leaf.length === 0) return void (await dropLeaf(tx, columnId, leaf))
  setIds(tx, leaf.leafId, leaf.ids)
  return leaf.length < minLeafIds ? joinNextLeaf(tx, columnId, leaf) : undefined
}

/**
 * Merges a leaf with the next one if both fit into half a leaf, to limit the number of leaves.
 * @returns the ID of the merged next leaf, if any
 */
async function joinNextLeaf(tx: Transaction, columnId: number, leaf: Leaf): Promise<number | undefined> {
  const next = await leafAt(tx, columnId, placeOf(leaf) + leaf.length)
  if (!next || next.leafId === leaf.leafId || next.nodeId !== leaf.nodeId || next.length + leaf.length > maxLeafIds / 2)
    return undefined
  setLeafOfCards(tx, leaf.leafId, splitIds(next.ids))
  setIds(tx, leaf.leafId, leaf.ids + next.ids)
  setLength(tx, leaf.leafId, leaf.length + next.length)
  await dropLeaf(tx, columnId, next)
  return next.leafId
}
