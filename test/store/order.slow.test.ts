import fc from 'fast-check'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database, Transaction } from '../../src/store/engine/database.ts'
import { openDatabase } from '../../src/store/engine/open.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import {
  appendCards,
  countOrdered,
  insertCard,
  moveCard,
  orderedIds,
  placeJoins,
  placeSql,
  removeCard,
} from '../../src/store/cards/order.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-order-'))
let db: Database

beforeAll(async () => {
  db = openDatabase({ path: join(folder, 'board.db'), clock: () => new Date() })
  await migrate(db)
  await db.transaction(async tx => {
    await tx.run(
      `INSERT INTO projects (id, name, path, owner_id, created_at, updated_at) VALUES (1, 'p', '/', 0, '', '')`,
    )
    await tx.run(`INSERT INTO boards VALUES (1, 1, 'b', 0, '')`)
    for (const id of [1, 2])
      await tx.run(
        `INSERT INTO columns (id, board_id, project_id, name, column_type, position) VALUES (?, 1, 1, 'c', 'backlog', ?)`,
        [id, id],
      )
  })
})
afterAll(async () => {
  await db.close()
  rmSync(folder, { recursive: true })
})

test('a column that loses nearly all of its cards, in any order, keeps few leaves and nodes', async () => {
  const model: Model = { columns: new Map([[3, []]]) }
  await db.transaction(async tx => {
    await tx.run(
      `INSERT INTO columns (id, board_id, project_id, name, column_type, position) VALUES (3, 1, 1, 'c', 'backlog', 3)`,
    )
    for (let id = 0; id < 12_000; id++) await add(tx, model, 3, undefined)
  })
  const count = async () =>
    (await db.get<{ nodes: number; leaves: number }>(
      'SELECT count(DISTINCT p.id) AS nodes, count(*) AS leaves FROM column_nodes p JOIN node_leaves s ON s.node_id = p.id WHERE p.column_id = 3',
    ))!
  expect(await count()).toMatchObject({ nodes: 5, leaves: 94 })
  const ids = model.columns.get(3)!
  await db.transaction(async tx => {
    for (const at of fc.sample(fc.nat(), { seed: 7, numRuns: ids.length - 60 })) {
      const [id] = ids.splice(at % ids.length, 1)
      await removeCard(tx, {
        id: id!,
        columnId: 3,
        leafId: (await tx.get<{ leafId: number }>('SELECT leaf_id AS leafId FROM cards WHERE id = ?', [id]))!.leafId,
      })
      await tx.run('DELETE FROM cards WHERE id = ?', [id])
    }
  })
  await expectSame(3, ids)
  const { nodes, leaves } = await count()
  expect(nodes).toBeLessThanOrEqual(2)
  expect(leaves).toBeLessThanOrEqual(12)
})

test('many cards that are created at once are appended in their order, regardless of the existing cards', async () => {
  const model: Model = { columns: new Map([[4, []]]) }
  const ids = model.columns.get(4)!
  await db.transaction(tx =>
    tx.run(
      `INSERT INTO columns (id, board_id, project_id, name, column_type, position) VALUES (4, 1, 1, 'c', 'backlog', 4)`,
    ),
  )
  for (const count of [3, 1500, 0, 70, 20_000, 1]) {
    await db.transaction(async tx => {
      const made: number[] = []
      while (made.length < count)
        made.push(
          (
            await tx.run(
              `INSERT INTO cards (project_id, board_id, column_id, title, prompt, created_at, updated_at) VALUES (1, 1, 4, 't', '', '', '')`,
            )
          ).lastId,
        )
      await appendCards(tx, 4, made)
      ids.push(...made)
      for (const at of [0, Math.floor(ids.length / 2), undefined]) await add(tx, model, 4, at)
    })
    await expectSame(4, ids)
  }
})

interface Model {
  columns: Map<number, number[]>
}
const step = fc.record({
  kind: fc.constantFrom('add', 'add', 'move', 'move', 'remove'),
  which: fc.nat(),
  column: fc.constantFrom(1, 2),
  at: fc.oneof(fc.constant(0), fc.nat({ max: 700 }), fc.nat({ max: 6000 }), fc.constant(undefined)),
})
type Step = { kind: string; which: number; column: number; at: number | undefined }

test('a column keeps the order of a plain list through any inserts, moves and removals', async () => {
  const model: Model = {
    columns: new Map([
      [1, []],
      [2, []],
    ]),
  }
  await db.transaction(async tx => {
    for (let id = 0; id < 600; id++) await add(tx, model, 1, undefined)
    for (let id = 0; id < 5000; id++) await add(tx, model, 2, id % 3 === 0 ? 0 : undefined)
  })
  for (const column of [1, 2]) await expectSame(column, model.columns.get(column)!)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), async steps => {
      for (const each of steps) await apply(model, each)
      for (const column of [1, 2]) await expectSame(column, model.columns.get(column)!)
    }),
    { numRuns: Number(process.env.BOARD_TEST_ROUNDS ?? 60) },
  )
})

async function apply(model: Model, { kind, which, column, at }: Step): Promise<void> {
  const all = [...model.columns.values()].flat()
  await db.transaction(async tx => {
    if (kind === 'add' || all.length === 0) {
      await add(tx, model, column, at)
      return
    }
    const id = all[which % all.length]!
    const from = [...model.columns].find(([, ids]) => ids.includes(id))![0]
    const card = (await tx.get<{ leafId: number }>('SELECT leaf_id AS leafId FROM cards WHERE id = ?', [id]))!
    model.columns.get(from)!.splice(model.columns.get(from)!.indexOf(id), 1)
    if (kind === 'remove') {
      await removeCard(tx, { id, columnId: from, leafId: card.leafId })
      return void (await tx.run('DELETE FROM cards WHERE id = ?', [id]))
    }
    const leafId = await moveCard(tx, { id, columnId: from, leafId: card.leafId }, column, at)
    await tx.run('UPDATE cards SET column_id = ?, leaf_id = ? WHERE id = ?', [column, leafId, id])
    model.columns.get(column)!.splice(at ?? Number.MAX_SAFE_INTEGER, 0, id)
  })
}

async function add(tx: Transaction, model: Model, column: number, at: number | undefined): Promise<void> {
  const { lastId } = await tx.run(
    `INSERT INTO cards (project_id, board_id, column_id, title, prompt, created_at, updated_at) VALUES (1, 1, ?, 't', '', '', '')`,
    [column],
  )
  await insertCard(tx, column, lastId, at)
  model.columns.get(column)!.splice(at ?? Number.MAX_SAFE_INTEGER, 0, lastId)
}

async function expectSame(column: number, ids: number[]): Promise<void> {
  expect(await countOrdered(db, column)).toBe(ids.length)
  expect(await orderedIds(db, column, 0, 1_000_000)).toEqual(ids)
  const window = Math.floor(ids.length / 3)
  expect(await orderedIds(db, column, window, 50)).toEqual(ids.slice(window, window + 50))
  const places = await db.all<{ id: number; place: number }>(
    `SELECT c.id, ${placeSql} AS place FROM cards c ${placeJoins} WHERE c.column_id = ? ORDER BY place`,
    [column],
  )
  expect(places.map(({ id, place }) => [id, place])).toEqual(ids.map((id, place) => [id, place]))
}
