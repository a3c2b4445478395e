import LibsqlDatabase from 'libsql'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '../../src/store/engine/open.ts'
import { migrate, schemaOf, schemaVersion } from '../../src/store/engine/migrate.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'board-schema-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const at = '2026-01-01T00:00:00.000Z'
const project = `INSERT INTO projects (id, name, path, owner_id, created_at, updated_at) VALUES (1, 'p', '/', 0, '${at}', '${at}'); INSERT INTO boards VALUES (1, 1, 'b', 0, '${at}');
  INSERT INTO columns (id, board_id, project_id, name, column_type, position) VALUES (1, 1, 1, 'one', 'backlog', 0), (2, 1, 1, 'two', 'done', 1), (3, 1, 1, 'empty', 'done', 2)`
const card = (id: number, kind: string, deletedAt?: string) =>
  `INSERT INTO cards (id, project_id, board_id, column_id, kind, title, prompt, created_at, updated_at, deleted_at) VALUES (${id}, 1, 1, 1, '${kind}', 't', '', '${at}', '${at}', ${deletedAt ? `'${deletedAt}'` : 'NULL'})`

/** The SQL that created each table, index or trigger of a version. Omits the internal tables of a full-text index. */
function objectsIn(version: number): string[] {
  const database = new LibsqlDatabase(':memory:')
  for (const statement of schemaOf(version)) database.exec(statement)
  const all = database
    .prepare(`SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY name`)
    .all([]) as Array<{ name: string; sql: string }>
  database.close()
  const indexes = all.filter(({ sql }) => sql.startsWith('CREATE VIRTUAL')).map(({ name }) => name)
  return all.filter(({ name }) => !indexes.some(index => name.startsWith(`${index}_`))).map(({ sql }) => sql)
}

/** Creates a database of an earlier version with the rows of these statements, migrates it to the current one, and reads it. */
async function migrated<T>(version: number, statements: readonly string[], sql: string): Promise<T[]> {
  const path = join(folder, `${version}.db`)
  const old = new LibsqlDatabase(path)
  for (const statement of [...schemaOf(version), ...statements, `PRAGMA user_version = ${version}`]) old.exec(statement)
  old.close()
  const database = openDatabase({ path, clock: () => new Date() })
  await migrate(database)
  const rows = await database.all<T>(sql)
  await database.close()
  return rows
}

test('the schema of each version equals the recorded one', async () => {
  const versions = Array.from({ length: schemaVersion }, (_, at) => objectsIn(at + 1))
  const every = [...new Set(versions.flat())].map(sql => {
    const those = versions.flatMap((objects, at) => (objects.includes(sql) ? [at + 1] : []))
    return { sql, from: those[0]!, to: those.at(-1)! }
  })
  const text = every
    .map(({ sql, from, to }) => `-- from version ${from}${to === schemaVersion ? '' : ` to ${to}`}\n${sql};\n`)
    .join('\n')
  await expect(text).toMatchFileSnapshot('../fixtures/schema.sql')
})

test('cards from before the search index are indexed, except those that no user can find', async () => {
  const cards = [card(1, 'kanban'), card(2, 'terminal'), card(3, 'assistant'), card(4, 'kanban', at)]
  const statements = [project, ...cards]
  const waiting = 'SELECT card_id AS id FROM unindexed_cards ORDER BY card_id'
  expect(await migrated(4, statements, waiting)).toEqual([{ id: 1 }, { id: 2 }])
  // Separate titles came later: all cards are indexed again, including those already waiting.
  expect(
    await migrated(
      9,
      [...statements, 'DELETE FROM unindexed_cards', 'INSERT INTO unindexed_cards VALUES (2)'],
      waiting,
    ),
  ).toEqual([{ id: 1 }, { id: 2 }])
})

test('a large column from before there were spans has spans of sixteen chunks, each in its position', async () => {
  const chunk = (id: number, column: number, start: number, length: number) => [
    `INSERT INTO column_chunks VALUES (${id}, ${column}, '')`,
    `INSERT INTO chunk_starts VALUES (${id}, ${column}, ${start}, ${length})`,
  ]
  const chunks = [
    ...Array.from({ length: 33 }, (_, at) => chunk(100 - at, 1, at * 10, 10)),
    chunk(200, 2, 0, 7),
    chunk(201, 2, 7, 3),
  ].flat()
  const rows = await migrated<{ columnId: number; start: number; length: number; chunks: string }>(
    8,
    [project, ...chunks],
    `SELECT p.column_id AS columnId, p.start, p.length, (SELECT json_group_array(json_array(chunk_id, start, length)) FROM (SELECT * FROM span_chunks WHERE span_id = p.id ORDER BY start)) AS chunks FROM column_spans p ORDER BY p.column_id, p.start`,
  )
  const some = (first: number, count: number) => Array.from({ length: count }, (_, at) => [first - at, at * 10, 10])
  expect(rows.map(row => ({ ...row, chunks: JSON.parse(row.chunks) }))).toEqual([
    { columnId: 1, start: 0, length: 160, chunks: some(100, 16) },
    { columnId: 1, start: 160, length: 160, chunks: some(84, 16) },
    { columnId: 1, start: 320, length: 10, chunks: some(68, 1) },
    {
      columnId: 2,
      start: 0,
      length: 10,
      chunks: [
        [200, 0, 7],
        [201, 7, 3],
      ],
    },
  ])
})

const place = [
  `INSERT INTO organizations (id, name, created_at) VALUES (4, 'Crew', '')`,
  `INSERT INTO projects (id, name, path, owner_id, organization_id, created_at, updated_at) VALUES (1, 'P', '/p', 1, 4, '', '')`,
  `INSERT INTO boards (id, project_id, name, position, created_at) VALUES (1, 1, 'B', 0, '')`,
  `INSERT INTO columns (id, board_id, project_id, name, column_type, position) VALUES (1, 1, 1, 'C', 'backlog', 0)`,
  `INSERT INTO cards (id, project_id, board_id, column_id, title, prompt, created_at, updated_at) VALUES (1, 1, 1, 1, 'T', '', '', '')`,
]
const session = (purpose: string, startedAt: string | null, tokens: number, costUsd: number | null) =>
  `INSERT INTO agent_sessions (project_id, card_id, purpose, agent, status, prompt, created_at, started_at, input_tokens, cost_usd)
   VALUES (1, 1, '${purpose}', 'a', 'completed', '', '', ${startedAt && `'${startedAt}'`}, ${tokens}, ${costUsd})`

test("usage of earlier versions' sessions is counted by the day of their start", async () => {
  const rows = await migrated(
    40,
    [
      ...place,
      session('work', '2026-03-01T10:00:00.000Z', 100, 0.5),
      session('work', '2026-03-02T10:00:00.000Z', 50, null),
      session('pre', '2026-03-02T23:00:00.000Z', 5, 0.25),
      session('terminal', '2026-03-02T10:00:00.000Z', 0, null),
      session('work', '2026-03-03T10:00:00.000Z', 7, null),
      session('work', null, 0, null),
    ],
    'SELECT day, agent, sessions, input_tokens AS tokens, cost_usd AS costUsd FROM agent_days ORDER BY day',
  )
  expect(rows).toEqual([
    { day: '2026-03-01', agent: 'a', sessions: 1, tokens: 100, costUsd: 0.5 },
    { day: '2026-03-02', agent: 'a', sessions: 2, tokens: 55, costUsd: 0.25 },
    { day: '2026-03-03', agent: 'a', sessions: 1, tokens: 7, costUsd: null },
  ])
})

test("the reported usage of earlier versions' sessions counts as used, and unreported usage as unknown", async () => {
  const rows = await migrated(
    31,
    [
      ...place,
      session('work', '2026-03-01T10:00:00.000Z', 100, 0.5),
      session('work', '2026-03-02T10:00:00.000Z', 50, null),
      session('pre', '2026-03-02T10:00:00.000Z', 0, null),
      session('terminal', '2026-03-02T10:00:00.000Z', 0, null),
      session('work', null, 0, null),
    ],
    `SELECT day, organization_id AS crew, runs, input_tokens AS tokens, tokens_unknown AS tokensUnknown, cost_usd AS costUsd, cost_unknown AS costUnknown,
     running_ms AS ms FROM agent_usage ORDER BY id`,
  )
  const row = { crew: 4, runs: 1, ms: 0 }
  expect(rows).toEqual([
    { ...row, day: '2026-03-01', tokens: 100, tokensUnknown: 0, costUsd: 0.5, costUnknown: 0 },
    { ...row, day: '2026-03-02', tokens: 50, tokensUnknown: 0, costUsd: 0, costUnknown: 1 },
    { ...row, day: '2026-03-02', tokens: 0, tokensUnknown: 1, costUsd: 0, costUnknown: 1 },
  ])
})

test('of the approvals of versions of a board.json, the newest one of each project is in effect', async () => {
  const other = project.split(';')[0]!.replace("(1, 'p', '/'", "(2, 'q', '/'")
  const agreements = [
    [1, 'a', '2026-01-02'],
    [1, 'b', '2026-01-03'],
    [1, 'c', '2026-01-03'],
    [1, 'd', '2026-01-01'],
    [2, 'a', '2026-01-01'],
  ].map(([id, version, day]) => `INSERT INTO board_file_agreements VALUES (${id}, '${version}', 'Anna', '${day}')`)
  const current = 'SELECT project_id AS id, version FROM board_file_agreements WHERE lapsed = 0 ORDER BY project_id'
  expect(await migrated(41, [project, other, ...agreements], current)).toEqual([
    { id: 1, version: 'c' },
    { id: 2, version: 'a' },
  ])
})
