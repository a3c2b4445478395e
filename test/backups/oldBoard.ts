import LibsqlDatabase from 'libsql'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import initial from '../../src/store/migrations/0001-initial.ts'
import people from '../../src/store/migrations/0002-people.ts'

const at = '2026-01-01T00:00:00.000Z'
const aChunk = 256

/** Creates a data folder of an old board, with schema version 1 or 2, and a project with `cards` cards. */
export function makeOldBoard(dataDir: string, version: 1 | 2, cards: number): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const database = new LibsqlDatabase(join(dataDir, 'board.db'))
  database.exec('PRAGMA journal_mode = WAL; BEGIN')
  for (const migration of [initial, people].slice(0, version)) database.exec(migration)
  database.exec(`INSERT INTO projects (id, name, path, owner_id, created_at, updated_at) VALUES (1, 'Old', '/', 0, '${at}', '${at}');
    INSERT INTO boards (id, project_id, name, position, created_at) VALUES (1, 1, 'Board', 0, '${at}');
    INSERT INTO columns (id, board_id, project_id, name, column_type, position) VALUES (1, 1, 1, 'Backlog', 'backlog', 0)`)
  for (let start = 0; start < cards; start += aChunk) {
    const ids = Array.from({ length: Math.min(aChunk, cards - start) }, (_, index) => start + index + 1)
    const chunk = start / aChunk + 1
    database.exec(
      `INSERT INTO column_chunks VALUES (${chunk}, 1, '${ids.map(id => `,${id.toString(16).padStart(8, '0')}`).join('')}'); INSERT INTO chunk_starts VALUES (${chunk}, 1, ${start}, ${ids.length})`,
    )
    for (const id of ids)
      database.exec(
        `INSERT INTO cards (id, project_id, board_id, column_id, chunk_id, title, prompt, created_at, updated_at) VALUES (${id}, 1, 1, 1, ${chunk}, 'Card ${id}', '${'Do it. '.repeat(20)}', '${at}', '${at}')`,
      )
  }
  database.exec(`PRAGMA user_version = ${version}; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)`)
  database.close()
}
