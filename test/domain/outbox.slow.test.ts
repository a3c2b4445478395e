import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { appendEvent, createOutbox, type Outbox, type StoredEvent } from '../../src/events/outbox.ts'
import type { Database, Transaction } from '../../src/store/engine/database.ts'
import { openDatabase } from '../../src/store/engine/open.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { eventually } from '../support/waiting/eventually.ts'

let folder: string
let now: Date
let db: Database
let outbox: Outbox

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'board-outbox-'))
  now = new Date('2026-05-01T12:00:00.000Z')
  db = openDatabase({ path: join(folder, 'board.db'), clock: () => now })
  await migrate(db)
  outbox = createOutbox(db)
})
afterEach(async () => {
  outbox.close()
  await db.close()
  rmSync(folder, { recursive: true })
})

const view = (tx: Transaction, projectId: number, id: number) =>
  appendEvent(tx, 'card.viewed', projectId, { id: String(id) })
const seqs = (events: StoredEvent[]) => events.map(event => event.seq)
const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, index) => first + index)

test('every committed event is published once, in order and without a gap, despite failures in between', async () => {
  const heard: StoredEvent[] = []
  outbox.subscribe(events => heard.push(...events))
  const writes = upTo(300).map(id =>
    db.transaction(async tx => {
      await view(tx, id % 3, id)
      if (id % 5 === 0) throw new Error('undone')
      if (id % 7 === 0) await view(tx, 9, id)
    }),
  )
  const outcomes = await Promise.allSettled(writes)
  const committed = outcomes.filter(outcome => outcome.status === 'fulfilled').length
  expect(committed).toBe(240)
  const last = await outbox.lastSeq()
  await eventually('the last event', () => heard.at(-1)?.seq === last)
  expect(seqs(heard)).toEqual(upTo(last))
  expect(heard[0]).toEqual({
    seq: 1,
    projectId: 1,
    type: 'card.viewed',
    data: '{"id":"1"}',
    at: '2026-05-01T12:00:00.000Z',
  })
})

test('a listener receives events from its start to its end only', async () => {
  await db.transaction(tx => view(tx, 1, 1))
  const early: StoredEvent[] = []
  const late: StoredEvent[] = []
  const end = outbox.subscribe(events => early.push(...events))
  await db.transaction(tx => view(tx, 1, 2))
  await eventually('the second event', () => early.length === 1)
  outbox.subscribe(events => late.push(...events))
  end()
  await db.transaction(tx => view(tx, 1, 3))
  await eventually('the third event', () => late.length === 1)
  expect([seqs(early), seqs(late)]).toEqual([[2], [3]])
})

test('a listener that names a seq receives all later events, including those committed before it started', async () => {
  await db.transaction(async tx => {
    for (const id of upTo(250)) await view(tx, 1, id)
  })
  const heard: number[] = []
  outbox.subscribe(events => heard.push(...seqs(events)), 7)
  await db.transaction(tx => view(tx, 1, 251))
  await eventually('the last event', () => heard.includes(251))
  expect(heard).toEqual(upTo(251, 8))
})

test('a burst larger than a page reaches every listener completely', async () => {
  const heard: number[][] = [[], []]
  for (const list of heard) outbox.subscribe(events => list.push(...seqs(events)))
  await db.transaction(async tx => {
    for (const id of upTo(1234)) await view(tx, 1, id)
  })
  await eventually('the last event', () => heard.every(list => list.length === 1234))
  expect(heard).toEqual([upTo(1234), upTo(1234)])
})

test('events of another database in this process are not received', async () => {
  const other = openDatabase({ path: join(folder, 'other.db'), clock: () => now })
  await migrate(other)
  const heard: StoredEvent[] = []
  outbox.subscribe(events => heard.push(...events))
  await other.transaction(tx => view(tx, 1, 1))
  await db.transaction(tx => view(tx, 2, 2))
  await eventually('the own event', () => heard.length > 0)
  expect(heard.map(event => event.projectId)).toEqual([2])
  await other.close()
})

test("replay returns one project's events after a seq, oldest first, a page at a time", async () => {
  await db.transaction(async tx => {
    for (const id of upTo(20)) await view(tx, id % 2, id)
  })
  expect(seqs(await outbox.replay(1, 4, 3))).toEqual([5, 7, 9])
  expect(seqs(await outbox.replay(1, 15, 100))).toEqual([17, 19])
  expect(await outbox.replay(1, 20, 100)).toEqual([])
  expect(await outbox.replay(7, 0, 100)).toEqual([])
})

test('events are kept for at least 7 days and 100,000 events, and pruned in limited pieces, oldest first', async () => {
  const prune = async () => {
    const pieces: number[] = []
    for (let piece = -1; piece !== 0;) pieces.push((piece = await db.transaction(tx => outbox.prune(tx))))
    return pieces
  }
  await db.transaction(async tx => {
    for (const id of upTo(103_000)) await view(tx, 1, id)
  })
  expect(await prune()).toEqual([0])
  now = new Date('2026-05-08T11:59:59.000Z')
  await db.transaction(async tx => {
    for (const id of upTo(4_000)) await view(tx, 1, id)
  })
  expect(await prune()).toEqual([0])
  now = new Date('2026-05-08T12:00:01.000Z')
  const pieces = await prune()
  expect([Math.max(...pieces), pieces.reduce((sum, piece) => sum + piece), pieces.at(-1)]).toEqual([200, 7000, 0])
  expect([await outbox.oldestSeq(), await outbox.lastSeq()]).toEqual([7001, 107_000])
  await db.transaction(tx => view(tx, 1, 1))
  expect(await outbox.lastSeq()).toBe(107_001)
})

test('an empty database has no last seq and would start with 1', async () => {
  expect([await outbox.lastSeq(), await outbox.oldestSeq()]).toEqual([0, 1])
})
