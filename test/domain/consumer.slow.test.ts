import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { EventType } from '../../src/contract/server/events.ts'
import { appendEvent, createOutbox, type Outbox, type StoredEvent } from '../../src/events/outbox.ts'
import { startConsumer, type ConsumerHandle, type EventConsumer } from '../../src/events/consumer.ts'
import type { Database, Transaction } from '../../src/store/engine/database.ts'
import { openDatabase } from '../../src/store/engine/open.ts'
import { readCursor, readEventsOfTypes } from '../../src/store/server/events.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { inShortTransactions } from '../../src/store/engine/shortTransactions.ts'
import { eventually } from '../support/waiting/eventually.ts'

let folder: string
let now: Date
let db: Database
let outbox: Outbox
/** The events that the reader requests, and their seqs in the database, where a reader keeps all its state. */
let wanted: EventType[]
let failures: unknown[]
let readers: ConsumerHandle[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'board-reader-'))
  now = new Date('2026-05-01T12:00:00.000Z')
  wanted = ['card.viewed']
  readers = []
  failures = []
  await open()
  await db.transaction(async tx => {
    await tx.run('CREATE TABLE taken (seq INTEGER)')
  })
})
afterEach(async () => {
  await close()
  rmSync(folder, { recursive: true })
})

async function open() {
  db = openDatabase({ path: join(folder, 'board.db'), clock: () => now })
  await migrate(db)
  outbox = createOutbox(db)
}
/** Closes everything like a crash: the state of readers in memory is lost. */
async function close() {
  await Promise.all(readers.map(reader => reader.stop()))
  outbox.close()
  await db.close()
}
const take: EventConsumer['take'] = async (tx, events: StoredEvent[]) => {
  for (const { seq } of events) await tx.run('INSERT INTO taken (seq) VALUES (?)', [seq])
}
const start = (consumer: Partial<EventConsumer> = {}) => {
  const reader = startConsumer(
    { db, outbox },
    'test',
    { find: (from, seq, limit) => readEventsOfTypes(from, wanted, seq, limit), take, ...consumer },
    error => failures.push(error),
  )
  readers.push(reader)
  return reader
}
const view = (tx: Transaction, id: number) => appendEvent(tx, 'card.viewed', 1, { id: String(id) })
const remove = (tx: Transaction, id: number) => appendEvent(tx, 'card.deleted', 1, { id: String(id), columnId: '1' })
const taken = async () => (await db.all<{ seq: number }>('SELECT seq FROM taken ORDER BY rowid')).map(({ seq }) => seq)
const cursor = () => readCursor(db, 'test')
const begun = async (reader = start()) => {
  await eventually('the start', async () => (await cursor()) !== undefined)
  return reader
}
const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, index) => first + index)

test('a reader receives every requested event once and in order, from its start on', async () => {
  await db.transaction(tx => view(tx, 1))
  await begun()
  await Promise.all(upTo(350).map(id => db.transaction(tx => (id % 5 === 0 ? remove(tx, id) : view(tx, id)))))
  await eventually('the last event', async () => (await cursor()) === 351)
  const all = await db.all<{ seq: number; type: string }>('SELECT seq, type FROM events WHERE seq > 1')
  expect(await taken()).toEqual(all.filter(({ type }) => type === 'card.viewed').map(({ seq }) => seq))
})

test('events that no reader requests cause no write, until a thousand of them must be recorded', async () => {
  let looks = 0
  await begun(
    start({
      find: (from, seq, limit) => {
        looks++
        return readEventsOfTypes(from, wanted, seq, limit)
      },
    }),
  )
  for (const id of upTo(50)) await db.transaction(tx => remove(tx, id))
  await db.transaction(tx => view(tx, 51))
  await eventually('the wanted event', async () => (await taken()).length === 1)
  for (const id of upTo(5)) {
    const before = looks
    await db.transaction(tx => remove(tx, id))
    await eventually('a look', () => looks > before)
  }
  expect([await taken(), await cursor()]).toEqual([[51], 51])
  await db.transaction(async tx => {
    for (const id of upTo(1000)) await remove(tx, id)
  })
  await eventually('the note', async () => (await cursor()) === 1056)
})

test('processed events are not processed again after a crash, and the others are', async () => {
  await begun()
  await db.transaction(async tx => {
    for (const id of upTo(150)) await view(tx, id)
  })
  await eventually('all of them', async () => (await taken()).length === 150)
  await close()
  await open()
  await db.transaction(async tx => {
    for (const id of upTo(150)) await view(tx, id)
  })
  start()
  await eventually('the others', async () => (await taken()).length === 300)
  expect(await taken()).toEqual(upTo(300))
})

test('a page that could not be processed is rolled back, reported and processed again', async () => {
  let attempts = 0
  await begun(
    start({
      take: async (tx, events) => {
        await take(tx, events)
        if (++attempts < 2) throw new Error('not now')
      },
    }),
  )
  await db.transaction(tx => view(tx, 1))
  await eventually('the event', async () => (await taken()).length === 1)
  await db.transaction(tx => view(tx, 2))
  await eventually('the next event', async () => (await taken()).length === 2)
  expect([await taken(), failures.map(String), attempts]).toEqual([[1, 2], ['Error: not now'], 3])
})

test('a change of the requested events applies to later events only, also after a crash', async () => {
  const reader = await begun()
  await db.transaction(async tx => {
    await remove(tx, 1)
    await view(tx, 2)
    await reader.catchUp(tx)
    await remove(tx, 3)
  })
  wanted = ['card.deleted']
  await db.transaction(tx => remove(tx, 4))
  await eventually('both of them', async () => (await taken()).length === 3)
  await close()
  await open()
  start()
  await db.transaction(tx => remove(tx, 5))
  await eventually('the last', async () => (await taken()).length === 4)
  expect(await taken()).toEqual([2, 3, 4, 5])
})

test('catching up in a transaction that is rolled back changes nothing', async () => {
  const reader = await begun()
  await db
    .transaction(async tx => {
      await view(tx, 1)
      await reader.catchUp(tx)
      throw new Error('undone')
    })
    .catch(() => {})
  await db.transaction(tx => view(tx, 2))
  await eventually('the event', async () => (await taken()).length === 1)
  expect(await taken()).toEqual([1])
})

test('a reader receives the events that it appends', async () => {
  await begun(
    start({
      take: async (tx, events) => {
        await take(tx, events)
        if (events[0]!.seq < 3) await view(tx, 9)
      },
    }),
  )
  await db.transaction(tx => view(tx, 1))
  await eventually('all three', async () => (await taken()).length === 3)
  expect(await taken()).toEqual([1, 2, 3])
})

test('events that a reader has not processed are not pruned', async () => {
  await begun()
  await close()
  await open()
  await db.transaction(async tx => {
    for (const id of upTo(104_000)) await view(tx, id)
  })
  now = new Date('2026-05-09T12:00:00.000Z')
  let pruned = 0
  const prune = () =>
    inShortTransactions(db, async tx => {
      const count = await outbox.prune(tx)
      pruned += count
      return count
    })
  await prune()
  expect(pruned).toBe(0)
  await db.transaction(tx => start().catchUp(tx))
  await prune()
  expect([pruned, (await taken()).length]).toEqual([4000, 104_000])
})
