import type { Reader, Transaction } from '../engine/database.ts'

/*
 * Reads and writes the leaves and nodes that `order.ts` describes. SQL aliases: `p` is `column_nodes`, with the start and length of
 * each node in its column. `s` is `node_leaves`, with the start and length of each leaf in its node. `k` is `column_leaves`, with
 * the IDs of each leaf.
 */

/** The size of a full leaf, and the size below which a leaf is merged with the next one. */
export const [maxLeafIds, minLeafIds] = [128, 32]
const maxNodeLeaves = 32
/** The length of an ID in a leaf's text: a comma and eight hexadecimal digits. */
export const idWidth = 9
/** The place at the end of a column. */
export const endPosition = Number.MAX_SAFE_INTEGER

export interface Leaf {
  leafId: number
  nodeId: number
  /** The number of cards of the column before the node. */
  nodeStart: number
  /** The number of cards of the node before the leaf. */
  start: number
  /** The number of cards of the leaf. */
  length: number
  /** The encoded IDs of the cards, in order. */
  ids: string
}

export const encodeId = (cardId: number) => `,${cardId.toString(16).padStart(idWidth - 1, '0')}`
export const splitIds = (ids: string) => ids.match(/,[0-9a-f]{8}/g) ?? []
export const withId = ({ ids }: Leaf, cardId: number, place: number) =>
  ids.slice(0, place * idWidth) + encodeId(cardId) + ids.slice(place * idWidth)
export const withoutId = (leaf: Leaf, cardId: number): Leaf => ({
  ...leaf,
  ids: leaf.ids.replace(encodeId(cardId), ''),
  length: leaf.length - 1,
})
export const placeOf = ({ nodeStart, start }: Leaf) => nodeStart + start
/** Returns a leaf with the start that it has after the length of an earlier leaf of the column has changed. */
export const shiftLeaf = (leaf: Leaf, earlier: Leaf, by: 1 | -1): Leaf =>
  leaf.nodeId === earlier.nodeId ? { ...leaf, start: leaf.start + by } : { ...leaf, nodeStart: leaf.nodeStart + by }

// A constant: the engine caches prepared statements by their text.
const leaf = 'SELECT s.leaf_id AS leafId, s.node_id AS nodeId, p.start AS nodeStart, s.start, s.length, k.ids FROM'
// Reads the leaf ID from the card's row, so that the caller does not have to.
const leafOfCard = `${leaf} node_leaves s JOIN column_nodes p ON p.id = s.node_id JOIN column_leaves k ON k.id = s.leaf_id WHERE s.leaf_id = (SELECT leaf_id FROM cards WHERE id = ?)`
const leafByPlace = `${leaf} column_nodes p CROSS JOIN node_leaves s ON s.node_id = p.id CROSS JOIN column_leaves k ON k.id = s.leaf_id
  WHERE p.column_id = ?1 AND p.start <= ?2 AND p.start + p.length > ?2 AND s.start <= ?2 - p.start AND s.start + s.length > ?2 - p.start`
const lastLeaf = `SELECT s.leafId, s.nodeId, s.nodeStart, s.start, s.length, k.ids FROM (SELECT s.leaf_id AS leafId, s.node_id AS nodeId, p.start AS nodeStart, max(s.start) AS start, s.length
  FROM (SELECT id, max(start) AS start FROM column_nodes WHERE column_id = ?) p CROSS JOIN node_leaves s ON s.node_id = p.id) s CROSS JOIN column_leaves k ON k.id = s.leafId`

/** The leaf that a card's row refers to. */
export async function leafOf(db: Reader, cardId: number): Promise<Leaf> {
  const found = await db.get<Leaf>(leafOfCard, [cardId])
  if (!found) throw new Error(`Card ${cardId} refers to a missing leaf.`)
  return found
}

/** The leaf that contains a place, or the last one. Scans only the starts, without the leaves' text. */
export async function leafAt(db: Reader, columnId: number, position: number): Promise<Leaf | undefined> {
  const found = position === endPosition ? undefined : await db.get<Leaf>(leafByPlace, [columnId, position])
  return found ?? db.get<Leaf>(lastLeaf, [columnId])
}

/** Adds to the length of a leaf and of its node, and to the starts of all leaves and nodes that follow. */
export function shiftAfter(tx: Transaction, columnId: number, at: Leaf, by: 1 | -1): void {
  shiftInNode(tx, at, by)
  tx.enqueue(
    'UPDATE column_nodes SET start = start + iif(start > ?1, ?2, 0), length = length + iif(id = ?3, ?2, 0) WHERE column_id = ?4 AND start >= ?1',
    [at.nodeStart, by, at.nodeId, columnId],
  )
}

const shiftInNode = (tx: Transaction, { leafId, nodeId, start }: Leaf, by: 1 | -1): void =>
  tx.enqueue(
    'UPDATE node_leaves SET start = start + iif(start > ?1, ?2, 0), length = length + iif(leaf_id = ?3, ?2, 0) WHERE node_id = ?4 AND start >= ?1',
    [start, by, leafId, nodeId],
  )

/** Moves one card's length from a leaf to another of the column, and shifts the starts between them. */
export function shiftBetween(tx: Transaction, columnId: number, source: Leaf, target: Leaf): void {
  const by = placeOf(target) < placeOf(source) ? 1 : -1
  if (source.nodeId === target.nodeId) {
    const [low, high] = by === 1 ? [target.start, source.start] : [source.start, target.start]
    return tx.enqueue(
      'UPDATE node_leaves SET start = start + iif(start > ?1, ?2, 0), length = length + (leaf_id = ?3) - (leaf_id = ?4) WHERE node_id = ?5 AND start BETWEEN ?1 AND ?6',
      [low, by, target.leafId, source.leafId, source.nodeId, high],
    )
  }
  shiftInNode(tx, source, -1)
  shiftInNode(tx, target, 1)
  const [low, high] = by === 1 ? [target.nodeStart, source.nodeStart] : [source.nodeStart, target.nodeStart]
  tx.enqueue(
    'UPDATE column_nodes SET start = start + iif(start > ?1, ?2, 0), length = length + (id = ?3) - (id = ?4) WHERE column_id = ?5 AND start BETWEEN ?1 AND ?6',
    [low, by, target.nodeId, source.nodeId, columnId, high],
  )
}

export const setIds = (tx: Transaction, leafId: number, ids: string): void =>
  tx.enqueue('UPDATE column_leaves SET ids = ? WHERE id = ?', [ids, leafId])
export const setLeafOfCard = (tx: Transaction, cardId: number, leafId: number | null): void =>
  tx.enqueue('UPDATE cards SET leaf_id = ? WHERE id = ?', [leafId, cardId])
export const setLength = (tx: Transaction, leafId: number, length: number): void =>
  tx.enqueue('UPDATE node_leaves SET length = ? WHERE leaf_id = ?', [length, leafId])

/** Inserts a new leaf into a node. The starts and lengths are already shifted. @returns its ID, for the cards' rows */
export async function addLeaf(
  tx: Transaction,
  columnId: number,
  { id, start }: { id: number; start: number },
  ids: readonly string[],
): Promise<number> {
  const { lastId } = await tx.run('INSERT INTO column_leaves (column_id, ids) VALUES (?, ?)', [columnId, ids.join('')])
  tx.enqueue('INSERT INTO node_leaves (leaf_id, node_id, start, length) VALUES (?, ?, ?, ?)', [
    lastId,
    id,
    start,
    ids.length,
  ])
  const starts = await tx.all<{ start: number }>('SELECT start FROM node_leaves WHERE node_id = ? ORDER BY start', [id])
  if (starts.length > maxNodeLeaves) await splitNode(tx, columnId, id, starts[maxNodeLeaves / 2]!.start)
  return lastId
}

export const setLeafOfCards = (tx: Transaction, leafId: number, ids: readonly string[]): void =>
  tx.enqueue('UPDATE cards SET leaf_id = ? WHERE id IN (SELECT value FROM json_each(?))', [
    leafId,
    JSON.stringify(ids.map(text => Number.parseInt(text.slice(1), 16))),
  ])

export async function dropLeaf(tx: Transaction, columnId: number, { leafId, nodeId }: Leaf): Promise<void> {
  tx.enqueue('DELETE FROM column_leaves WHERE id = ?', [leafId])
  tx.enqueue('DELETE FROM column_nodes WHERE column_id = ? AND length = 0', [columnId])
  await joinNextNode(tx, columnId, nodeId)
}

export const addNode = async (tx: Transaction, columnId: number, start: number, length: number): Promise<number> =>
  (await tx.run('INSERT INTO column_nodes (column_id, start, length) VALUES (?, ?, ?)', [columnId, start, length]))
    .lastId

/** Splits a node: the leaves that start at or after `place` become a new node. */
async function splitNode(tx: Transaction, columnId: number, nodeId: number, place: number): Promise<void> {
  const { start, length } = (await tx.get<{ start: number; length: number }>(
    'SELECT start, length FROM column_nodes WHERE id = ?',
    [nodeId],
  ))!
  const newId = await addNode(tx, columnId, start + place, length - place)
  tx.enqueue('UPDATE node_leaves SET node_id = ?, start = start - ?2 WHERE node_id = ?3 AND start >= ?2', [
    newId,
    place,
    nodeId,
  ])
  tx.enqueue('UPDATE column_nodes SET length = ? WHERE id = ?', [place, nodeId])
}

/** Merges a node with the next one if both fit into half a node. */
async function joinNextNode(tx: Transaction, columnId: number, nodeId: number): Promise<void> {
  const [node, next] = await tx.all<{ id: number; length: number; leaves: number }>(
    `SELECT id, length, (SELECT count(*) FROM node_leaves WHERE node_id = p.id) AS leaves FROM column_nodes p
     WHERE column_id = ? AND start >= (SELECT start FROM column_nodes WHERE id = ?) ORDER BY start LIMIT 2`,
    [columnId, nodeId],
  )
  if (!node || !next || node.leaves + next.leaves > maxNodeLeaves / 2) return
  tx.enqueue('UPDATE node_leaves SET node_id = ?, start = start + ? WHERE node_id = ?', [node.id, node.length, next.id])
  tx.enqueue('UPDATE column_nodes SET length = length + ? WHERE id = ?', [next.length, node.id])
  tx.enqueue('DELETE FROM column_nodes WHERE id = ?', [next.id])
}
