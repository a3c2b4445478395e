import type { Reader, Transaction } from './database.ts'

/**
 * The order of a column's cards. A column is a list of chunks of at most `mostIds` cards; a chunk knows the place of its
 * first card. Reading a place costs one chunk, changing the order costs one chunk and a number for each later chunk,
 * however many cards there are. Places are dense by construction: no holes, no ties. No index holds the starts: keeping
 * one up to date costs more than looking through a column's few chunks (measured: 145 against 109 µs a move at 10,000 cards).
 * The smaller the chunks, the less a place costs, and the more a place in a large column changes.
 */
const mostIds = 128
const fewIds = 32
const width = 9
const theEnd = Number.MAX_SAFE_INTEGER

/** SQL for a card's place, for a query that joins `cards c`, `column_chunks k` and `chunk_starts s` on c.chunk_id; NULL outside the order. */
export const placeSql = `(s.start + (instr(k.ids, printf(',%08x', c.id)) - 1) / ${width})`
/** The joins that `placeSql` needs. */
export const placeJoins = 'LEFT JOIN column_chunks k ON k.id = c.chunk_id LEFT JOIN chunk_starts s ON s.chunk_id = c.chunk_id'

interface Chunk { chunkId: number; start: number; length: number; ids: string }
type Ordered = { id: number; columnId: number; chunkId: number | null }

/** Puts a card, or one that is being made, into a column: at the zero-based place, or at the end when the place is past it or not given. */
export async function insertCard(tx: Transaction, columnId: number, card: number | Promise<number>, position = theEnd): Promise<void> {
  const [cardId, chunk] = await Promise.all([card, chunkAt(tx, columnId, position)])
  if (!chunk) return startChunk(tx, columnId, [encode(cardId)], 0)
  if (position < theEnd) shiftLater(tx, columnId, chunk.start, 1)
  await insertInto(tx, columnId, chunk, cardId, position - chunk.start)
}

/** Takes a card, if it is in a column's order, out of it and puts it into a column like `insertCard`. Within a column that costs a number for each chunk between the two places. */
export async function moveCard(tx: Transaction, card: Ordered, columnId: number, position = theEnd): Promise<void> {
  if (card.chunkId === null || card.columnId !== columnId) {
    await removeCard(tx, card)
    return insertCard(tx, columnId, card.id, position)
  }
  const source = await chunkOf(tx, card)
  const rest = { ...source, ids: source.ids.replace(encode(card.id), ''), length: source.length - 1 }
  const isUp = position < source.start
  // The place counts without the card: behind it, each chunk begins one earlier than is written.
  const target = isUp ? (await chunkAt(tx, columnId, position))! : position - source.start <= rest.length ? source : (await chunkAt(tx, columnId, Math.min(position, theEnd - 1) + 1))!
  if (target.chunkId === source.chunkId) return setIds(tx, source.chunkId, withId(rest, card.id, position - source.start))
  const [low, high] = [Math.min(source.start, target.start), Math.max(source.start, target.start)]
  const hasRoom = target.length < mostIds
  tx.send('UPDATE chunk_starts SET start = start + iif(start > ?1, ?2, 0), length = length + (chunk_id IS ?3) - (chunk_id = ?4) WHERE column_id = ?5 AND start BETWEEN ?1 AND ?6', [low, isUp ? 1 : -1, hasRoom ? target.chunkId : null, source.chunkId, columnId, high])
  const [from, to] = isUp ? [{ ...rest, start: rest.start + 1 }, target] : [rest, { ...target, start: target.start - 1 }]
  if (hasRoom) {
    tx.send('UPDATE cards SET chunk_id = ? WHERE id = ?', [to.chunkId, card.id])
    await setIds(tx, to.chunkId, withId(to, card.id, position - to.start))
  } else await insertInto(tx, columnId, to, card.id, position - to.start)
  await (from.length < fewIds ? leave(tx, columnId, from) : setIds(tx, from.chunkId, from.ids))
}

/** Puts cards that are in no column's order at the end of this one, in the order of their ids here, at the cost of a few statements for a whole chunk. */
export async function appendCards(tx: Transaction, columnId: number, cardIds: readonly number[]): Promise<void> {
  if (cardIds.length < fewIds) {
    for (const id of cardIds) await insertCard(tx, columnId, id)
    return
  }
  let start = await countOrdered(tx, columnId)
  for (let from = 0; from < cardIds.length; from += mostIds) {
    const ids = cardIds.slice(from, from + mostIds)
    const { lastId } = await tx.run('INSERT INTO column_chunks (column_id, ids) VALUES (?, ?)', [columnId, ids.map(encode).join('')])
    tx.send('INSERT INTO chunk_starts (chunk_id, column_id, start, length) VALUES (?, ?, ?, ?)', [lastId, columnId, start, ids.length])
    tx.send('UPDATE cards SET chunk_id = ? WHERE id IN (SELECT value FROM json_each(?))', [lastId, JSON.stringify(ids)])
    start += ids.length
  }
}

/** Takes a card out of its column's order; the places behind it close up. */
export async function removeCard(tx: Transaction, card: Ordered): Promise<void> {
  if (card.chunkId === null) return
  const chunk = await chunkOf(tx, card)
  tx.send('UPDATE cards SET chunk_id = NULL WHERE id = ?', [card.id])
  shiftLater(tx, card.columnId, chunk.start, -1)
  await leave(tx, card.columnId, { ...chunk, ids: chunk.ids.replace(encode(card.id), ''), length: chunk.length - 1 })
}

/** How many cards a column's order holds. */
export async function countOrdered(db: Reader, columnId: number): Promise<number> {
  return (await db.get<{ count: number }>('SELECT coalesce(sum(length), 0) AS count FROM chunk_starts WHERE column_id = ?', [columnId]))!.count
}

/** The ids of a column's cards in order, `limit` of them from the place `offset`. */
export async function orderedIds(db: Reader, columnId: number, offset: number, limit: number): Promise<number[]> {
  const chunks = await db.all<{ start: number; ids: string }>(
    `SELECT s.start, k.ids FROM chunk_starts s JOIN column_chunks k ON k.id = s.chunk_id
     WHERE s.column_id = ? AND s.start < ? AND s.start + s.length > ? ORDER BY s.start`, [columnId, offset + limit, offset])
  const skipped = chunks[0] ? Math.max(0, offset - chunks[0].start) : 0
  return chunks.flatMap(chunk => split(chunk.ids)).slice(skipped, skipped + limit).map(text => Number.parseInt(text.slice(1), 16))
}

async function chunkOf(tx: Transaction, card: Ordered): Promise<Chunk> {
  const chunk = await tx.get<Chunk>('SELECT s.chunk_id AS chunkId, s.start, s.length, k.ids FROM chunk_starts s JOIN column_chunks k ON k.id = s.chunk_id WHERE s.chunk_id = ?', [card.chunkId])
  if (!chunk) throw new Error(`Card ${card.id} names chunk ${card.chunkId}, which is not there.`)
  return chunk
}

/** Puts a card into a chunk, at its end when the place is past that. What does not fit goes into a new chunk behind it. */
async function insertInto(tx: Transaction, columnId: number, chunk: Chunk, cardId: number, place: number): Promise<void> {
  if (chunk.length >= mostIds && place >= chunk.length) return startChunk(tx, columnId, [encode(cardId)], chunk.start + chunk.length)
  const ids = withId(chunk, cardId, place)
  tx.send('UPDATE cards SET chunk_id = ? WHERE id = ?', [chunk.chunkId, cardId])
  if (chunk.length < mostIds) return rewrite(tx, chunk.chunkId, ids)
  const half = Math.ceil((chunk.length + 1) / 2) * width
  await rewrite(tx, chunk.chunkId, ids.slice(0, half))
  await startChunk(tx, columnId, split(ids.slice(half)), chunk.start + half / width)
}

/** Writes what is left of a chunk out of which a card was taken. */
async function leave(tx: Transaction, columnId: number, chunk: Chunk): Promise<void> {
  if (chunk.length === 0) return dropChunk(tx, chunk.chunkId)
  await rewrite(tx, chunk.chunkId, chunk.ids)
  if (chunk.length < fewIds) await joinNext(tx, columnId, chunk)
}

const withId = ({ ids }: Chunk, cardId: number, place: number) => ids.slice(0, place * width) + encode(cardId) + ids.slice(place * width)

const encode = (cardId: number) => `,${cardId.toString(16).padStart(width - 1, '0')}`
const split = (ids: string) => ids.match(/,[0-9a-f]{8}/g) ?? []

/** The chunk that holds a place, or the last one. The starts are looked through alone, without the chunks' text. */
const chunkAt = (tx: Transaction, columnId: number, position: number) => tx.get<Chunk>(
  `SELECT s.chunkId, s.start, s.length, k.ids FROM (SELECT chunk_id AS chunkId, max(start) AS start, length FROM chunk_starts WHERE column_id = ? AND start <= ?) s
   JOIN column_chunks k ON k.id = s.chunkId`, [columnId, position])

const shiftLater = (tx: Transaction, columnId: number, start: number, by: 1 | -1): void =>
  tx.send('UPDATE chunk_starts SET start = start + ? WHERE column_id = ? AND start > ?', [by, columnId, start])

const setIds = async (tx: Transaction, chunkId: number, ids: string) => { tx.send('UPDATE column_chunks SET ids = ? WHERE id = ?', [ids, chunkId]) }

async function rewrite(tx: Transaction, chunkId: number, ids: string): Promise<void> {
  await setIds(tx, chunkId, ids)
  tx.send('UPDATE chunk_starts SET length = ? WHERE chunk_id = ?', [ids.length / width, chunkId])
}

async function startChunk(tx: Transaction, columnId: number, ids: string[], start: number): Promise<void> {
  const { lastId } = await tx.run('INSERT INTO column_chunks (column_id, ids) VALUES (?, ?)', [columnId, ids.join('')])
  tx.send('INSERT INTO chunk_starts (chunk_id, column_id, start, length) VALUES (?, ?, ?, ?)', [lastId, columnId, start, ids.length])
  await assign(tx, lastId, ids)
}

const assign = async (tx: Transaction, chunkId: number, ids: string[]) => {
  for (const text of ids) tx.send('UPDATE cards SET chunk_id = ? WHERE id = ?', [chunkId, Number.parseInt(text.slice(1), 16)])
}

const dropChunk = async (tx: Transaction, chunkId: number) => { tx.send('DELETE FROM column_chunks WHERE id = ?', [chunkId]) }

/** Keeps chunks from growing many and small: two neighbours that fit into half a chunk become one. */
async function joinNext(tx: Transaction, columnId: number, chunk: Chunk): Promise<void> {
  const next = await chunkAt(tx, columnId, chunk.start + chunk.length)
  if (!next || next.chunkId === chunk.chunkId || next.length + chunk.length > mostIds / 2) return
  await assign(tx, chunk.chunkId, split(next.ids))
  await rewrite(tx, chunk.chunkId, chunk.ids + next.ids)
  await dropChunk(tx, next.chunkId)
}
