import LibsqlDatabase from 'libsql'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  copyBoard,
  countRows,
  isUnfinished,
  requireFinished,
  type CopyOptions,
} from '../../src/store/engine/boardCopy.ts'
import type { Database, Reader } from '../../src/store/engine/database.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { openDatabase } from '../../src/store/engine/open.ts'

const at = '2026-01-01T00:00:00.000Z'
const cards = 900
/** Texts, numbers, NULL and JSON, more cards than a page, and rows of daemons and of one database only. */
const board = [
  `INSERT INTO users (id, email, display_name, role, created_at) VALUES (7, 'ada@example.org', 'Ada "O''Hara"', 'super_admin', '${at}')`,
  `INSERT INTO projects (id, name, path, owner_id, created_at, updated_at, host) VALUES (3, 'p', '/p', 7, '${at}', '${at}', 'one'), (4, 'q', '/q', 7, '${at}', '${at}', NULL)`,
  `INSERT INTO boards VALUES (5, 3, 'b', 0, '${at}')`,
  `INSERT INTO columns (id, board_id, project_id, name, column_type, position) VALUES (6, 5, 3, 'c', 'backlog', 0)`,
  ...Array.from(
    { length: cards },
    (_, id) =>
      `INSERT INTO cards (id, project_id, board_id, column_id, title, prompt, kind, created_at, updated_at, deleted_at) VALUES (${id * 2 + 10}, 3, 5, 6, 'card ${id}', '', '${id === 0 ? 'assistant' : 'kanban'}', '${at}', '${at}', ${id === 1 ? `'${at}'` : 'NULL'})`,
  ),
  `DELETE FROM cards WHERE id = ${cards * 2 + 8}`,
  `INSERT INTO events (seq, project_id, type, data, at) VALUES (41, 3, 'card.created', '{}', '${at}')`,
  `INSERT INTO comments (id, card_id, author_kind, author_name, body, created_at) VALUES (8, 14, 'user', 'Ada', 'words', '${at}')`,
  'DELETE FROM unindexed_cards',
  'DELETE FROM unindexed_remarks',
  `INSERT INTO server_settings VALUES ('theme', '"kept"'), ('sealing-key', '"of this database"'), ('ready', '1')`,
  `INSERT INTO daemons VALUES ('d', 'one', 'http://127.0.0.1:1', '1', '${at}', 1)`,
  `INSERT INTO revocations (ended, at_ms) VALUES ('{}', 1)`,
]
const ownToDaemons = ['daemons', 'leases', 'process_runs', 'tickets', 'counters', 'revocations']

let folder: string
let from: Database
let to: Database
let beside: LibsqlDatabase.Database
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'board-copying-'))
  from = await open('from')
  to = await open('to')
  beside = new LibsqlDatabase(join(folder, 'to.db'))
  await from.transaction(async tx => {
    for (const sql of board) await tx.run(sql)
  })
})
afterEach(async () => {
  beside.close()
  await Promise.all([from.close(), to.close()])
  rmSync(folder, { recursive: true })
})

async function open(name: string): Promise<Database> {
  const database = openDatabase({ path: join(folder, `${name}.db`), clock: () => new Date() })
  await migrate(database)
  return database
}
const copy = (options: Partial<CopyOptions> = {}, source: Reader = from) =>
  copyBoard(source, to, { hostOf: host => host, requireFree: async () => {}, ...options })
const tables = async () =>
  (
    await from.all<{ name: string }>(
      `SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name <> 'sqlite_schema' ORDER BY name`,
    )
  ).map(({ name }) => name)
const rowsOf = async (database: Reader, table: string) =>
  (await database.all(`SELECT * FROM ${table}`)).map(row => JSON.stringify(row)).sort()

test('a copy holds every row with its ids, and no rows of daemons or of the other database', async () => {
  const told: number[] = []
  const tallies = await copy({ onProgress: rows => told.push(rows) })
  for (const table of (await tables()).filter(
    name => ![...ownToDaemons, 'server_settings', 'unindexed_cards', 'unindexed_remarks'].includes(name),
  ))
    expect(await rowsOf(to, table), table).toEqual(await rowsOf(from, table))
  for (const table of ownToDaemons) expect(await rowsOf(to, table), table).toEqual([])
  expect(await to.all('SELECT name, value FROM server_settings')).toEqual([{ name: 'theme', value: '"kept"' }])
  expect(tallies.find(({ table }) => table === 'cards')).toMatchObject({ rows: cards - 1 })
  expect(new Set(tallies.map(({ sha256 }) => sha256)).size).toBeGreaterThan(5)
  expect([told.at(-1), told.toSorted((a, b) => a - b)]).toEqual([(await countRows(from)) - 4, told])
})

test('a copy continues like the board: ids are not reused, cards are counted, and words are indexed again', async () => {
  await copy()
  expect(await to.get('SELECT count(*) AS waiting FROM unindexed_cards')).toMatchObject({ waiting: cards - 3 })
  expect(await to.all('SELECT row_id AS id FROM unindexed_remarks')).toMatchObject([{ id: 8 }])
  expect(await to.get('SELECT sum(total) AS total FROM card_counts')).toMatchObject({ total: cards - 3 })
  const { lastId } = await to.transaction(tx =>
    tx.run(
      `INSERT INTO cards (project_id, board_id, column_id, title, prompt, created_at, updated_at) VALUES (3, 5, 6, 'new', '', '', '')`,
    ),
  )
  expect(lastId).toBe(cards * 2 + 9)
  expect(await to.get('SELECT sum(total) AS total FROM card_counts')).toMatchObject({ total: cards - 2 })
})

test("a project's folder is on the machine that the copy assigns", async () => {
  await copy({ hostOf: before => (before === null ? 'was null' : `after ${before}`) })
  expect(await to.all('SELECT id, host FROM projects ORDER BY id')).toEqual([
    { id: 3, host: 'after one' },
    { id: 4, host: 'was null' },
  ])
})

test('the content of the target is deleted only on request, or if it is an unfinished copy', async () => {
  await copy()
  await expect(copy()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('--replace') })
  await from.transaction(tx => tx.run(`UPDATE projects SET name = 'renamed' WHERE id = 3`))
  beside.exec(`INSERT INTO tickets (kind, key, value, ends_at_ms) VALUES ('k', 'k', 'v', 1)`)
  await copy({ replace: true })
  expect(
    await to.get(
      'SELECT name, (SELECT count(*) FROM cards) AS cards, (SELECT count(*) FROM tickets) AS tickets FROM projects WHERE id = 3',
    ),
  ).toMatchObject({ name: 'renamed', cards: cards - 1, tickets: 0 })
  for (const [table, row] of [
    ['users', `(id, email, display_name, role, created_at) VALUES (1, 'e', 'd', 'user', '')`],
    ['events', `(type, data, at) VALUES ('t', '{}', '')`],
  ]) {
    for (const each of ['events', 'users', 'projects']) beside.exec(`DELETE FROM ${each}`)
    beside.exec(`INSERT INTO ${table} ${row}`)
    await expect(copy(), table).rejects.toMatchObject({ code: 'CONFLICT' })
  }
})

test('a copy that another program writes to is invalid, is marked as such, and can be repeated', async () => {
  const half = (await countRows(from)) / 2 - 2
  const changing = (sql: string) =>
    copy({
      onProgress: rows => {
        if (rows >= half) beside.exec(sql)
      },
    })
  await expect(changing(`UPDATE cards SET title = 'changed' WHERE id = 100`)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('The copy of cards'),
  })
  expect(await isUnfinished(to)).toBe(true)
  await expect(requireFinished(to)).rejects.toMatchObject({ code: 'CONFLICT' })
  await expect(
    changing(`INSERT OR IGNORE INTO events (seq, type, data, at) VALUES (1, 't', '{}', '')`),
  ).rejects.toMatchObject({ message: expect.stringContaining('The copy of events') })
  await copy()
  expect(await isUnfinished(to)).toBe(false)
  await requireFinished(to)
})

test('of two concurrent copies the later one continues', async () => {
  for (const [after, written] of [
    [1, 0],
    [(await countRows(from)) - 4, cards - 1],
  ] as const) {
    await expect(
      copy({
        onProgress: rows => {
          if (rows >= after)
            beside.exec(`UPDATE server_settings SET value = '"another"' WHERE name = 'unfinished-copy'`)
        },
      }),
    ).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('another copy to the target has started'),
    })
    expect(
      await to.get(
        `SELECT value, (SELECT count(*) FROM cards) AS cards FROM server_settings WHERE name = 'unfinished-copy'`,
      ),
    ).toMatchObject({ value: '"another"', cards: written })
  }
})

test('no copy is made while a daemon works on the target, at the start or at the end', async () => {
  for (const busyAt of [1, 2]) {
    let asked = 0
    await expect(
      copy({
        requireFree: async () => {
          if (++asked === busyAt) throw new Error('A daemon works there.')
        },
      }),
    ).rejects.toThrow('A daemon works there.')
    expect([asked, await isUnfinished(to)]).toEqual([busyAt, busyAt === 2])
  }
})

test('a board of another version is not copied', async () => {
  await from.transaction(tx => tx.run('PRAGMA user_version = 10'))
  await expect(copy()).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('The schema version of the board differs from that of this program'),
  })
})

test('a page that a server rejects as too large is requested in smaller ones, and any other error fails', async () => {
  const limits: number[] = []
  const narrow = (message: string): Reader => ({
    ...from,
    all: async (sql, args = []) => {
      if (/FROM cards WHERE/.test(sql)) limits.push(Number(args.at(-1)))
      if (Number(args.at(-1)) > 60 && /FROM cards WHERE/.test(sql)) throw new Error(message)
      return from.all(sql, args)
    },
  })
  await copy({}, narrow('Response is too large'))
  expect(await rowsOf(to, 'cards')).toEqual(await rowsOf(from, 'cards'))
  expect(limits.slice(0, 5)).toEqual([400, 50, 100, 12, 24])
  await expect(copy({ replace: true }, narrow('words'))).rejects.toThrow('words')
  const never: Reader = {
    ...from,
    all: async (sql, args) => {
      if (/FROM cards WHERE/.test(sql)) throw new Error('RESPONSE_TOO_LARGE')
      return from.all(sql, args)
    },
  }
  await expect(copy({}, never)).rejects.toThrow('RESPONSE_TOO_LARGE')
})
