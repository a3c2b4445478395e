import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Database, Transaction } from '../../src/store/engine/database.ts'
import {
  deleteDeliveries,
  disabledWithDeliveries,
  failDeliveries,
  forgetDeliveries,
  hastenAttemptedLater,
  hastenDelivery,
  insertDelivery,
  listDeliveries,
  nextDelivery,
  readDelivery,
  recordAttempt,
  webhooksWithDueDeliveries,
  type AttemptRow,
} from '../../src/store/automation/deliveries.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { openDatabase } from '../../src/store/engine/open.ts'
import { insertWebhook } from '../../src/store/automation/webhooks.ts'

let folder: string
let db: Database
let now: string
const second = (number: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, number)).toISOString()
let [one, two, disabled] = [0, 0, 0]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'board-deliveries-'))
  db = openDatabase({ path: join(folder, 'board.db'), clock: () => new Date(now) })
  now = second(10)
  await migrate(db)
  ;[one, two, disabled] = await db.transaction(async tx => {
    await tx.run(
      `INSERT INTO projects (id, name, path, owner_id, created_at, updated_at) VALUES (1, 'p', '/', 0, '', '')`,
    )
    const make = (enabled: boolean) =>
      insertWebhook(tx, { projectId: 1, url: 'http://127.0.0.1/', events: '[]', enabled })
    return [await make(true), await make(true), await make(false)]
  })
})
afterEach(async () => {
  await db.close()
  rmSync(folder, { recursive: true })
})

const write = <T>(work: (tx: Transaction) => Promise<T>) => db.transaction(work)
const add = (webhookId: number, more: { requested?: boolean } = {}) =>
  write(tx =>
    insertDelivery(tx, { webhookId, messageId: `m${Math.random()}`, type: 'card.moved', body: '{}', ...more }),
  )
const attempted = (id: number, attempt: Partial<AttemptRow>) =>
  write(tx =>
    recordAttempt(tx, id, {
      url: 'http://127.0.0.1/then',
      responseStatus: 500,
      responseBody: 'no',
      error: 'refused',
      durationMs: 7,
      startedAt: now,
      status: 'pending',
      nextAttemptAt: null,
      ...attempt,
    }),
  )
const due = (at = now) => webhooksWithDueDeliveries(db, at)
const nextOf = async (webhookId: number, at = now) => (await nextDelivery(db, webhookId, at))?.id

test('an enabled webhook is due with a delivery that was never attempted, or with a due retry', async () => {
  expect([await due(), await disabledWithDeliveries(db)]).toEqual([[], []])
  const [first, ended] = [await add(one), await add(two)]
  expect(await disabledWithDeliveries(db)).toEqual([])
  const left = await add(disabled)
  await attempted(ended, { status: 'succeeded' })
  expect([await due(), await disabledWithDeliveries(db)]).toEqual([[one], [disabled]])
  await attempted(left, { status: 'failed' })
  expect(await disabledWithDeliveries(db)).toEqual([])
  await attempted(first, { nextAttemptAt: second(30) })
  expect([
    await due(second(29)),
    await due(second(30)),
    await nextOf(one, second(29)),
    await nextOf(one, second(30)),
  ]).toEqual([[], [one], undefined, first])
  await attempted(first, { status: 'failed' })
  expect([await due(second(99)), await nextOf(one, second(99)), await nextOf(disabled, second(99))]).toEqual([
    [],
    undefined,
    undefined,
  ])
})

test('the next delivery is one that a user requested, otherwise the one that has waited longest', async () => {
  const again = await add(one)
  await attempted(again, { nextAttemptAt: second(12) })
  now = second(11)
  const [first, later] = [await add(one), await add(one)]
  expect(await nextOf(one, second(20))).toBe(first)
  await attempted(first, { status: 'succeeded' })
  now = second(13)
  const other = await add(two)
  await attempted(later, { nextAttemptAt: second(14) })
  const young = await add(one)
  expect([await nextOf(one, second(20)), await nextOf(one, second(11))]).toEqual([again, young])
  const requested = await add(one, { requested: true })
  expect([await nextOf(one, second(20)), await nextOf(two, second(20))]).toEqual([requested, other])
  await attempted(requested, { status: 'succeeded' })
  await attempted(young, { status: 'succeeded' })
  expect(await nextOf(one, second(20))).toBe(again)
  await write(tx => hastenDelivery(tx, later))
  expect([(await readDelivery(db, one, later))!.nextAttemptAt, await nextOf(one, second(13))]).toEqual([
    second(13),
    again,
  ])
})

test('an attempt is recorded once, and never for an ended delivery', async () => {
  const id = await add(one)
  expect(await attempted(id, { nextAttemptAt: second(15) })).toBe(true)
  expect(await readDelivery(db, one, id)).toMatchObject({
    attempts: 1,
    status: 'pending',
    url: 'http://127.0.0.1/then',
    responseStatus: 500,
    responseBody: 'no',
    error: 'refused',
    durationMs: 7,
    lastAttemptAt: now,
    finishedAt: null,
  })
  expect(await readDelivery(db, two, id)).toBeUndefined()
  now = second(20)
  expect(await attempted(id, { status: 'succeeded', responseStatus: 200, error: null })).toBe(true)
  expect(await readDelivery(db, one, id)).toMatchObject({
    attempts: 2,
    status: 'succeeded',
    nextAttemptAt: null,
    finishedAt: second(20),
  })
  expect(await attempted(id, { status: 'failed' })).toBe(false)
  expect(await readDelivery(db, one, id)).toMatchObject({ attempts: 2, status: 'succeeded' })
})

test('after a clock was set back only deliveries with a future attempt are attempted immediately', async () => {
  const [ahead, before, never, over] = [await add(one), await add(one), await add(one), await add(one)]
  await attempted(ahead, { startedAt: second(50), nextAttemptAt: second(80) })
  await attempted(before, { startedAt: second(5), nextAttemptAt: second(70) })
  await attempted(over, { startedAt: second(50), status: 'failed' })
  now = second(12)
  await write(hastenAttemptedLater)
  expect(
    await Promise.all([ahead, before, never, over].map(async id => (await readDelivery(db, one, id))!.nextAttemptAt)),
  ).toEqual([second(12), second(70), second(10), null])
})

test('deliveries are listed newest first, given up, pruned and deleted in parts, separately per webhook', async () => {
  const mine = [await add(one), await add(one), await add(one), await add(one)]
  const others = [await add(two), await add(two)]
  await attempted(mine[1]!, { status: 'succeeded' })
  const ids = async (...asked: Parameters<typeof listDeliveries> extends [unknown, ...infer Rest] ? Rest : never) =>
    (await listDeliveries(db, ...asked)).map(({ id }) => id)
  expect(await ids(one, { limit: 9 })).toEqual([...mine].reverse())
  expect(await ids(one, { limit: 2, before: mine[3]! })).toEqual([mine[2], mine[1]])
  expect([
    await ids(one, { limit: 9, status: 'succeeded' }),
    await ids(one, { limit: 1, status: 'pending', before: mine[2]! }),
  ]).toEqual([[mine[1]], [mine[0]]])
  now = second(40)
  expect([
    await write(tx => failDeliveries(tx, one, 'given up', 2)),
    await write(tx => failDeliveries(tx, one, 'given up', 2)),
    await write(tx => failDeliveries(tx, one, 'given up', 2)),
  ]).toEqual([2, 1, 0])
  expect(await readDelivery(db, one, mine[3]!)).toMatchObject({
    status: 'failed',
    error: 'given up',
    nextAttemptAt: null,
    finishedAt: second(40),
  })
  expect(await ids(two, { limit: 9, status: 'pending' })).toEqual([...others].reverse())
  expect([await write(tx => forgetDeliveries(tx, second(40), 9)), await ids(one, { limit: 9 })]).toEqual([
    1,
    [mine[3], mine[2], mine[0]],
  ])
  expect([
    await write(tx => deleteDeliveries(tx, one, 2)),
    await write(tx => deleteDeliveries(tx, one, 2)),
    await ids(two, { limit: 9 }),
  ]).toEqual([2, 1, [...others].reverse()])
})
