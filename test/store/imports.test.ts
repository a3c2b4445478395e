import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '../../src/store/engine/database.ts'
import { abandonedProjects, deleteSomeOfHidden, raiseProjectTokens } from '../../src/store/projects/imports.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { openDatabase } from '../../src/store/engine/open.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-imports-'))
let db: Database
const [cards, messages] = [450, 1100]

beforeAll(async () => {
  db = openDatabase({ path: join(folder, 'board.db'), clock: () => new Date() })
  await migrate(db)
  await db.transaction(async tx => {
    for (const id of [1, 2]) {
      await tx.run(
        `INSERT INTO projects (id, name, path, owner_id, created_at, updated_at, hidden, importer) VALUES (?, 'p', '/', 0, '', '', ?, ?)`,
        [id, id === 2, id === 2 ? 'gone' : null],
      )
      await tx.run(`INSERT INTO boards VALUES (?1, ?1, 'b', 0, '')`, [id])
      await tx.run(
        `INSERT INTO columns (id, board_id, project_id, name, column_type, position) VALUES (?1, ?1, ?1, 'c', 'backlog', 0)`,
        [id],
      )
      for (let card = 0; card < cards; card++)
        await tx.run(
          `INSERT INTO cards (id, project_id, board_id, column_id, title, prompt, created_at, updated_at) VALUES (?2, ?1, ?1, ?1, 't', '', '', '')`,
          [id, id * 1000 + card],
        )
      await tx.run(
        `INSERT INTO agent_sessions (id, project_id, card_id, purpose, agent, status, prompt, created_at, input_tokens) VALUES (?1, ?1, ?2, 'work', 'a', 'completed', '', '', 30)`,
        [id, id * 1000],
      )
      for (let message = 0; message < messages; message++)
        await tx.run(`INSERT INTO transcript_messages (session_id, card_id, role, at) VALUES (?, ?, 'user', '')`, [
          id,
          id * 1000,
        ])
    }
  })
})
afterAll(async () => {
  await db.close()
  rmSync(folder, { recursive: true })
})

const held = () =>
  db.all(
    `SELECT p.id, (SELECT count(*) FROM cards WHERE project_id = p.id) AS cards, (SELECT count(*) FROM transcript_messages m JOIN agent_sessions s ON s.id = m.session_id WHERE s.project_id = p.id) AS messages FROM projects p ORDER BY p.id`,
  )

test('a hidden project of this machine is abandoned only if its importer is another process without a recent heartbeat', async () => {
  expect(await abandonedProjects(db, 'me', 60_000)).toEqual([2])
  expect(await abandonedProjects(db, 'gone', 60_000)).toEqual([])
  const seen = (agoMs: number) =>
    db.transaction(tx =>
      tx.run(
        `INSERT INTO daemons VALUES ('gone', 'one', '', '', '', CAST(unixepoch('subsec') * 1000 AS INTEGER) - ?) ON CONFLICT DO UPDATE SET seen_at_ms = excluded.seen_at_ms`,
        [agoMs],
      ),
    )
  await seen(1000)
  expect(await abandonedProjects(db, 'me', 60_000)).toEqual([])
  await seen(61_000)
  expect(await abandonedProjects(db, 'me', 60_000)).toEqual([2])
  await db.transaction(tx => tx.run(`UPDATE projects SET host = 'other' WHERE id = 2`))
  expect(await abandonedProjects(db, 'me', 60_000)).toEqual([])
})

test('the content of a hidden project is deleted in parts, messages first, and nothing of any other', async () => {
  const parts: number[] = []
  do parts.push(await db.transaction(tx => deleteSomeOfHidden(tx, 2)))
  while (parts.at(-1) !== 0)
  expect(parts).toEqual([500, 500, 100, 200, 200, 50, 0])
  expect(await held()).toEqual([
    { id: 1, cards, messages },
    { id: 2, cards: 0, messages: 0 },
  ])
})

test('imported usage is used if it exceeds that of the sessions', async () => {
  const used = () => db.all('SELECT total, sessions FROM project_tokens WHERE project_id = 1')
  expect(await used()).toEqual([{ total: 30, sessions: 1 }])
  for (const [total, sessions] of [
    [20, 0],
    [40, 1],
    [40, 3],
  ] as const)
    await db.transaction(tx => raiseProjectTokens(tx, 1, { total, sessions }))
  expect(await used()).toEqual([{ total: 40, sessions: 3 }])
})
