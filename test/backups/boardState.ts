import LibsqlDatabase from 'libsql'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Tables that change with a restart of a board, that the timetable writes, the audit log, which no restore reverts, and the proofs of sign-ins. */
const volatile = [
  'sign_in_tokens',
  'agent_tokens',
  'process_runs',
  'unindexed_cards',
  'unindexed_remarks',
  'project_days',
  'event_cursors',
  'audit_entries',
]

/** A restore clears the records of confirmed folders, which would be others on another machine. The next start of an agent records them. */
const withoutFolders = (table: string, columns: readonly string[]) =>
  columns.filter(name => !(table === 'projects' && name === 'folder_records'))

/** A hash of every row of every table and of every attachment's bytes. No other process must be writing. */
export function hashOfBoard(dataDir: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'board-hash-'))
  try {
    for (const name of ['board.db', 'board.db-wal'])
      if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(folder, name))
    const hash = createHash('sha256')
    const database = new LibsqlDatabase(join(folder, 'board.db'))
    const all = (sql: string) => database.prepare(sql).raw().all([]) as unknown[][]
    for (const [table, sql] of all(
      "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    ) as string[][]) {
      if (volatile.includes(table!) || /^card_t(exts|itles|alks)/.test(table!)) continue
      const columns = withoutFolders(
        table!,
        all(`PRAGMA table_info(${table})`).map(([, name]) => String(name)),
      )
      const order = columns.map((_, at) => at + 1).join(', ')
      hash.update(`${table} ${sql}\n`)
      for (const row of all(
        `SELECT ${columns.join(', ')} FROM ${table}${table === 'server_settings' ? " WHERE name NOT IN ('ready', 'database-use')" : ''} ORDER BY ${order}`,
      ))
        hash.update(`${JSON.stringify(row)}\n`)
    }
    const named = new Set(all('SELECT stored_as FROM attachments').map(([name]) => String(name)))
    database.close()
    for (const name of readdirSync(join(dataDir, 'attachments'))
      .filter(each => named.has(each))
      .sort())
      hash.update(name).update(readFileSync(join(dataDir, 'attachments', name)))
    return hash.digest('hex')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
