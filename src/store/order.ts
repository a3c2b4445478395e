import type { Reader, Transaction } from './database.ts'

/**
 * The order of a column's cards: a list of spans of chunks of cards. A chunk knows how many cards of its span stand before it, a span how
 * many of the column. Reading a place costs one chunk and two numbers; changing the order costs one chunk, a number for each later chunk of
 * its span and one for each later span, however many cards there are. Places are dense by construction: no holes, no ties. No index holds
 * the starts: keeping one up to date costs more than looking through a few (measured: 145 against 109 µs a move at 10,000 cards).
 */
const [mostIds, fewIds] = [128, 32]
const mostChunks = 32
const width = 9
const theEnd = Number.MAX_SAFE_INTEGER

/** SQL for a card's place, for a query that joins `cards c` by `placeJoins`; NULL outside the order. */
export const placeSql = `(p.start + s.start + (instr(k.ids, printf(',%08x', c.id)) - 1) / ${width})`
export const placeJoins =
  'LEFT JOIN column_chunks k ON k.id = c.chunk_id LEFT JOIN span_chunks s ON s.chunk_id = c.chunk_id LEFT JOIN column_spans p ON p.id = s.span_id'

/** `start` counts within the span, and `length` the cards. */
interface Chunk {
  chunkId: number
  spanId: number
  spanStart: number
  start: number
  length: number
  ids: string
}
type Ordered = { id: number; columnId: number; chunkId: number | null }

/** Puts a card, or one that is being made, into a column: at the zero-based place, or at the end when the place is past it or not given. */
export async function insertCard(
  tx: Transaction,
  columnId: number,
  card: number | Promise<number>,
  position = theEnd,
): Promise<void> {
  const [cardId, chunk] = await Promise.all([card, chunkAt(tx, columnId, position)])
  nameChunk(tx, cardId, await insertAt(tx, columnId, chunk, cardId, position))
}

/**
 * Takes a card, if it is in a column's order, out of it and puts it into a column like `insertCard`. Within a column only what stands between the two places is counted anew.
 * @returns the chunk that the card's row is to name. The caller writes it, with what else changes: a row that is written once costs half.
 */
export async function moveCard(tx: Transaction, card: Ordered, columnId: number, position = theEnd): Promise<number> {
  if (card.chunkId === null || card.columnId !== columnId) {
    await takeOut(tx, card)
    return insertAt(tx, columnId, await chunkAt(tx, columnId, position), card.id, position)
  }
  const source = await chunkOf(tx, card)
  const [place, rest] = [placeOf(source), without(source, card.id)]
  const isUp = position < place
  // The place counts without the card: behind it, each chunk begins one earlier than is written.
  const target = isUp
    ? (await chunkAt(tx, columnId, position))!
    : position - place <= rest.length
      ? source
      : (await chunkAt(tx, columnId, Math.min(position, theEnd - 1) + 1))!
  if (target.chunkId === source.chunkId) {
    setIds(tx, source.chunkId, withId(rest, card.id, position - place))
    return source.chunkId
  }
  countBetween(tx, columnId, source, target)
  const [from, to] = isUp ? [later(rest, target, 1), target] : [rest, later(target, source, -1)]
  const chunkId = await insertInto(tx, columnId, to, card.id, position - placeOf(to))
  const joined = await leave(tx, columnId, from)
  return chunkId === joined ? from.chunkId : chunkId
}

/** Puts cards that are in no column's order at the end of this one, in the order of their ids here, at the cost of a few statements for a whole chunk. */
export async function appendCards(tx: Transaction, columnId: number, cardIds: readonly number[]): Promise<void> {
  if (cardIds.length < fewIds) {
    for (const id of cardIds) await insertCard(tx, columnId, id)
    return
  }
  for (let from = 0; from < cardIds.length; from += mostIds) {
    const ids = cardIds.slice(from, from + mostIds).map(encode)
    const last = await chunkAt(tx, columnId, theEnd)
    if (last) tx.send('UPDATE column_spans SET length = length + ? WHERE id = ?', [ids.length, last.spanId])
    const span = last
      ? { id: last.spanId, start: last.start + last.length }
      : { id: await addSpan(tx, columnId, 0, ids.length), start: 0 }
    assign(tx, await addChunk(tx, columnId, span, ids), ids)
  }
}

/** Takes a card out of its column's order; the places behind it close up. */
export async function removeCard(tx: Transaction, card: Ordered): Promise<void> {
  await takeOut(tx, card)
  if (card.chunkId !== null) nameChunk(tx, card.id, null)
}

/** How many cards a column's order holds. */
export async function countOrdered(db: Reader, columnId: number): Promise<number> {
  return (await db.get<{ count: number }>(
    'SELECT coalesce(sum(length), 0) AS count FROM column_spans WHERE column_id = ?',
    [columnId],
  ))!.count
}

/** The ids of a column's cards in order, `limit` of them from the place `offset`. */
export async function orderedIds(db: Reader, columnId: number, offset: number, limit: number): Promise<number[]> {
  const chunks = await db.all<{ start: number; ids: string }>(
    `SELECT p.start + s.start AS start, k.ids FROM column_spans p JOIN span_chunks s ON s.span_id = p.id JOIN column_chunks k ON k.id = s.chunk_id
     WHERE p.column_id = ?1 AND p.start < ?2 AND p.start + p.length > ?3 AND p.start + s.start < ?2 AND p.start + s.start + s.length > ?3 ORDER BY p.start + s.start`,
    [columnId, offset + limit, offset],
  )
  const skipped = chunks[0] ? Math.max(0, offset - chunks[0].start) : 0
  return chunks
    .flatMap(chunk => split(chunk.ids))
    .slice(skipped, skipped + limit)
    .map(text => Number.parseInt(text.slice(1), 16))
}

const encode = (cardId: number) => `,${cardId.toString(16).padStart(width - 1, '0')}`
const split = (ids: string) => ids.match(/,[0-9a-f]{8}/g) ?? []
const withId = ({ ids }: Chunk, cardId: number, place: number) =>
  ids.slice(0, place * width) + encode(cardId) + ids.slice(place * width)
const without = (chunk: Chunk, cardId: number): Chunk => ({
  ...chunk,
  ids: chunk.ids.replace(encode(cardId), ''),
  length: chunk.length - 1,
})
const placeOf = ({ spanStart, start }: Chunk) => spanStart + start
/** A chunk that stands behind another one, to whose cards so many came. */
const later = (chunk: Chunk, behind: Chunk, by: 1 | -1): Chunk =>
  chunk.spanId === behind.spanId ? { ...chunk, start: chunk.start + by } : { ...chunk, spanStart: chunk.spanStart + by }

// Made once: the engine finds a prepared statement by its text.
const chunk = 'SELECT s.chunk_id AS chunkId, s.span_id AS spanId, p.start AS spanStart, s.start, s.length, k.ids FROM'
const chunkById = `${chunk} span_chunks s JOIN column_spans p ON p.id = s.span_id JOIN column_chunks k ON k.id = s.chunk_id WHERE s.chunk_id = ?`
const chunkByPlace = `${chunk} column_spans p CROSS JOIN span_chunks s ON s.span_id = p.id CROSS JOIN column_chunks k ON k.id = s.chunk_id
  WHERE p.column_id = ?1 AND p.start <= ?2 AND p.start + p.length > ?2 AND s.start <= ?2 - p.start AND s.start + s.length > ?2 - p.start`
const lastChunk = `SELECT s.chunkId, s.spanId, s.spanStart, s.start, s.length, k.ids FROM (SELECT s.chunk_id AS chunkId, s.span_id AS spanId, p.start AS spanStart, max(s.start) AS start, s.length
  FROM (SELECT id, max(start) AS start FROM column_spans WHERE column_id = ?) p CROSS JOIN span_chunks s ON s.span_id = p.id) s CROSS JOIN column_chunks k ON k.id = s.chunkId`

async function chunkOf(tx: Transaction, card: Ordered): Promise<Chunk> {
  const found = await tx.get<Chunk>(chunkById, [card.chunkId])
  if (!found) throw new Error(`Card ${card.id} names chunk ${card.chunkId}, which is not there.`)
  return found
}

/** The chunk that holds a place, or the last one. The starts are looked through alone, without the chunks' text. */
async function chunkAt(tx: Transaction, columnId: number, position: number): Promise<Chunk | undefined> {
  const found = position === theEnd ? undefined : await tx.get<Chunk>(chunkByPlace, [columnId, position])
  return found ?? tx.get<Chunk>(lastChunk, [columnId])
}

/** Counts a card that comes to a chunk, or goes from it: there, and for all that stands behind. */
function count(tx: Transaction, columnId: number, at: Chunk, by: 1 | -1): void {
  countInSpan(tx, at, by)
  tx.send(
    'UPDATE column_spans SET start = start + iif(start > ?1, ?2, 0), length = length + iif(id = ?3, ?2, 0) WHERE column_id = ?4 AND start >= ?1',
    [at.spanStart, by, at.spanId, columnId],
  )
}

const countInSpan = (tx: Transaction, { chunkId, spanId, start }: Chunk, by: 1 | -1): void =>
  tx.send(
    'UPDATE span_chunks SET start = start + iif(start > ?1, ?2, 0), length = length + iif(chunk_id = ?3, ?2, 0) WHERE span_id = ?4 AND start >= ?1',
    [start, by, chunkId, spanId],
  )

/** Counts a card that goes from one chunk of a column to another: what stands before both or behind both stays as it is. */
function countBetween(tx: Transaction, columnId: number, source: Chunk, target: Chunk): void {
  const by = placeOf(target) < placeOf(source) ? 1 : -1
  if (source.spanId === target.spanId) {
    const [low, high] = by === 1 ? [target.start, source.start] : [source.start, target.start]
    return tx.send(
      'UPDATE span_chunks SET start = start + iif(start > ?1, ?2, 0), length = length + (chunk_id = ?3) - (chunk_id = ?4) WHERE span_id = ?5 AND start BETWEEN ?1 AND ?6',
      [low, by, target.chunkId, source.chunkId, source.spanId, high],
    )
  }
  countInSpan(tx, source, -1)
  countInSpan(tx, target, 1)
  const [low, high] = by === 1 ? [target.spanStart, source.spanStart] : [source.spanStart, target.spanStart]
  tx.send(
    'UPDATE column_spans SET start = start + iif(start > ?1, ?2, 0), length = length + (id = ?3) - (id = ?4) WHERE column_id = ?5 AND start BETWEEN ?1 AND ?6',
    [low, by, target.spanId, source.spanId, columnId, high],
  )
}

/** Takes a card out of its column's order. Its row still names the chunk. */
async function takeOut(tx: Transaction, card: Ordered): Promise<void> {
  if (card.chunkId === null) return
  const chunk = await chunkOf(tx, card)
  count(tx, card.columnId, chunk, -1)
  await leave(tx, card.columnId, without(chunk, card.id))
}

/** Counts a card in and puts it into the chunk that was found for its place, or into the first one of a column. @returns the chunk that holds it */
async function insertAt(
  tx: Transaction,
  columnId: number,
  chunk: Chunk | undefined,
  cardId: number,
  position: number,
): Promise<number> {
  if (!chunk) return addChunk(tx, columnId, { id: await addSpan(tx, columnId, 0, 1), start: 0 }, [encode(cardId)])
  count(tx, columnId, chunk, 1)
  return insertInto(tx, columnId, chunk, cardId, position - placeOf(chunk))
}

/**
 * Puts a card that has been counted into a chunk, at its end when the place is past that. What does not fit goes into a new chunk behind it;
 * but a card before all others of a full chunk or behind them gets a new one for itself, for each card that changes chunks is a row to write.
 * @returns the chunk that holds it
 */
async function insertInto(
  tx: Transaction,
  columnId: number,
  chunk: Chunk,
  cardId: number,
  place: number,
): Promise<number> {
  const { chunkId, spanId, start, length } = chunk
  const ids = withId(chunk, cardId, place)
  if (length < mostIds) {
    setIds(tx, chunkId, ids)
    return chunkId
  }
  if (place === 0) {
    tx.send('UPDATE span_chunks SET start = ?, length = ? WHERE chunk_id = ?', [start + 1, length, chunkId])
    return addChunk(tx, columnId, { id: spanId, start }, [encode(cardId)])
  }
  const kept = place >= length ? length : Math.ceil((length + 1) / 2)
  const moved = split(ids.slice(kept * width))
  setIds(tx, chunkId, ids.slice(0, kept * width))
  setLength(tx, chunkId, kept)
  const newId = await addChunk(tx, columnId, { id: spanId, start: start + kept }, moved)
  assign(tx, newId, moved)
  return place < kept ? chunkId : newId
}

/** Writes what is left of a chunk from which a card has gone and been counted. @returns the chunk whose cards it took, if so */
async function leave(tx: Transaction, columnId: number, chunk: Chunk): Promise<number | undefined> {
  if (chunk.length === 0) return void (await dropChunk(tx, columnId, chunk))
  setIds(tx, chunk.chunkId, chunk.ids)
  return chunk.length < fewIds ? joinNextChunk(tx, columnId, chunk) : undefined
}

const setIds = (tx: Transaction, chunkId: number, ids: string): void =>
  tx.send('UPDATE column_chunks SET ids = ? WHERE id = ?', [ids, chunkId])
const nameChunk = (tx: Transaction, cardId: number, chunkId: number | null): void =>
  tx.send('UPDATE cards SET chunk_id = ? WHERE id = ?', [chunkId, cardId])
const setLength = (tx: Transaction, chunkId: number, length: number): void =>
  tx.send('UPDATE span_chunks SET length = ? WHERE chunk_id = ?', [length, chunkId])

/** Puts ids that have been counted into a new chunk, which begins at a place of a span. @returns its id, for the cards' rows to name */
async function addChunk(
  tx: Transaction,
  columnId: number,
  { id, start }: { id: number; start: number },
  ids: readonly string[],
): Promise<number> {
  const { lastId } = await tx.run('INSERT INTO column_chunks (column_id, ids) VALUES (?, ?)', [columnId, ids.join('')])
  tx.send('INSERT INTO span_chunks (chunk_id, span_id, start, length) VALUES (?, ?, ?, ?)', [
    lastId,
    id,
    start,
    ids.length,
  ])
  const starts = await tx.all<{ start: number }>('SELECT start FROM span_chunks WHERE span_id = ? ORDER BY start', [id])
  if (starts.length > mostChunks) await splitSpan(tx, columnId, id, starts[mostChunks / 2]!.start)
  return lastId
}

const assign = (tx: Transaction, chunkId: number, ids: readonly string[]): void =>
  tx.send('UPDATE cards SET chunk_id = ? WHERE id IN (SELECT value FROM json_each(?))', [
    chunkId,
    JSON.stringify(ids.map(text => Number.parseInt(text.slice(1), 16))),
  ])

async function dropChunk(tx: Transaction, columnId: number, { chunkId, spanId }: Chunk): Promise<void> {
  tx.send('DELETE FROM column_chunks WHERE id = ?', [chunkId])
  tx.send('DELETE FROM column_spans WHERE column_id = ? AND length = 0', [columnId])
  await joinNextSpan(tx, columnId, spanId)
}

/** Keeps chunks from growing many and small: two neighbours that fit into half a chunk become one. @returns the one that went into the other, if so */
async function joinNextChunk(tx: Transaction, columnId: number, chunk: Chunk): Promise<number | undefined> {
  const next = await chunkAt(tx, columnId, placeOf(chunk) + chunk.length)
  if (
    !next ||
    next.chunkId === chunk.chunkId ||
    next.spanId !== chunk.spanId ||
    next.length + chunk.length > mostIds / 2
  )
    return undefined
  assign(tx, chunk.chunkId, split(next.ids))
  setIds(tx, chunk.chunkId, chunk.ids + next.ids)
  setLength(tx, chunk.chunkId, chunk.length + next.length)
  await dropChunk(tx, columnId, next)
  return next.chunkId
}

const addSpan = async (tx: Transaction, columnId: number, start: number, length: number): Promise<number> =>
  (await tx.run('INSERT INTO column_spans (column_id, start, length) VALUES (?, ?, ?)', [columnId, start, length]))
    .lastId

/** The chunks from a place of a span on become a span of their own. */
async function splitSpan(tx: Transaction, columnId: number, spanId: number, place: number): Promise<void> {
  const { start, length } = (await tx.get<{ start: number; length: number }>(
    'SELECT start, length FROM column_spans WHERE id = ?',
    [spanId],
  ))!
  const newId = await addSpan(tx, columnId, start + place, length - place)
  tx.send('UPDATE span_chunks SET span_id = ?, start = start - ?2 WHERE span_id = ?3 AND start >= ?2', [
    newId,
    place,
    spanId,
  ])
  tx.send('UPDATE column_spans SET length = ? WHERE id = ?', [place, spanId])
}

/** Keeps spans from growing many and small, like chunks. */
async function joinNextSpan(tx: Transaction, columnId: number, spanId: number): Promise<void> {
  const [span, next] = await tx.all<{ id: number; length: number; chunks: number }>(
    `SELECT id, length, (SELECT count(*) FROM span_chunks WHERE span_id = p.id) AS chunks FROM column_spans p
     WHERE column_id = ? AND start >= (SELECT start FROM column_spans WHERE id = ?) ORDER BY start LIMIT 2`,
    [columnId, spanId],
  )
  if (!span || !next || span.chunks + next.chunks > mostChunks / 2) return
  tx.send('UPDATE span_chunks SET span_id = ?, start = start + ? WHERE span_id = ?', [span.id, span.length, next.id])
  tx.send('UPDATE column_spans SET length = length + ? WHERE id = ?', [next.length, span.id])
  tx.send('DELETE FROM column_spans WHERE id = ?', [next.id])
}
