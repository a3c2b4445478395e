import { createHash, randomUUID, type Hash } from 'node:crypto'
import LibsqlDatabase from 'libsql'
import { Problem } from '../../contract/errors.ts'
import { mergeAudit } from '../server/audit.ts'
import { type Database, type Reader, type Transaction, type Value } from './database.ts'
import { markRemarks } from '../cards/search.ts'
import { presentVersion, schemaOf, schemaVersion } from './migrate.ts'

/** These tables belong to the running daemons, not to the board. */
const skippedTables = new Set(['daemons', 'leases', 'process_runs', 'tickets', 'counters', 'revocations'])
/** A replaced board keeps its audit log, and the copied one is merged into it. */
const merged = 'audit_entries'
const ownSettings = ['unfinished-copy', 'ready', 'sealing-key', 'database-use']
const [maxRows, minRows] = [400, 1]
/** SQLite accepts at most 32,766 parameters per statement. */
const maxParameters = 20_000

/** A table: its columns, and those of its key, in order. */
interface Table {
  name: string
  columns: string[]
  key: string[]
}
/** The number of copied rows of a table. */
export interface Tally {
  table: string
  rows: number
  sha256: string
}
export interface CopyOptions {
  /** Maps the machine of a project's folder to the machine that has the folder after the copy. Null if a database is a file. */
  hostOf(before: string | null): string | null
  /** Whether the target's contents are deleted first. */
  replace?: boolean
  /** Checks that no daemon uses the target, at the start and at the end of the copy. @throws to abort it */
  requireFree(to: Reader): Promise<void>
  /** Called with the number of rows copied or compared so far. */
  onProgress?: (rows: number) => void
}

/** The number of rows that a copy reads. Each row is copied, then compared. */
export async function countRows(from: Reader): Promise<number> {
  let total = 0
  for (const { name } of planCopy().tables)
    total += (await from.get<{ total: number }>(`SELECT count(*) AS total FROM ${name}`))!.total
  return 2 * total
}

/**
 * Copies a snapshot of a whole board, every row with its IDs, into an empty database of this version, then compares every table
 * of both. Until then, the target is marked as unfinished with this copy's ID: of two concurrent copies, the one that started
 * later continues and the other fails.
 * @throws Problem CONFLICT if the target contains a board that must not be replaced, the comparison finds a difference, or
 * another copy has started
 */
export async function copyBoard(
  from: Reader,
  to: Database,
  { hostOf, replace, requireFree, onProgress }: CopyOptions,
): Promise<Tally[]> {
  if ((await presentVersion(from)) !== schemaVersion)
    throw new Problem(
      'CONFLICT',
      'The schema version of the board differs from that of this program. To update it, start this version of the server on it once.',
    )
  if (!replace) await requireEmpty(to)
  const plan = planCopy()
  const copyId = randomUUID()
  await clearTarget(to, plan, { copyId, requireFree })
  let done = 0
  const step = (rows: number) => onProgress?.((done += rows))
  const tallies: Tally[] = []
  for (const table of plan.tables) tallies.push(await copyTable(from, to, table, { hostOf, copyId }, step))
  for (const [at, table] of plan.tables.entries()) {
    const { rows, sha256 } = await tally(to, table, step)
    if (rows !== tallies[at]!.rows || sha256 !== tallies[at]!.sha256)
      throw new Problem(
        'CONFLICT',
        `The copy of ${table.name} differs from the original. Another program is writing to the target.`,
      )
  }
  await mergeAudit(from, to)
  await finishCopy(from, to, plan, { copyId, requireFree })
  return tallies
}

/** A copy that has started. */
interface Begun extends Pick<CopyOptions, 'requireFree'> {
  copyId: string
}

/**
 * Deletes the leftovers of an unfinished copy, and marks the target with this copy's ID. Triggers are dropped, because they would
 * count rows twice.
 */
const clearTarget = (to: Database, { tables, triggers }: Plan, { copyId, requireFree }: Begun): Promise<void> =>
  to.transaction(async tx => {
    await requireFree(tx)
    await tx.run(
      `INSERT INTO server_settings (name, value) VALUES ('unfinished-copy', ?) ON CONFLICT DO UPDATE SET value = excluded.value`,
      [JSON.stringify(copyId)],
    )
    for (const { name } of triggers) await tx.run(`DROP TRIGGER IF EXISTS ${name}`)
    for (const { name } of [...tables].reverse())
      await tx.run(
        name === 'server_settings'
          ? `DELETE FROM server_settings WHERE name <> 'unfinished-copy'`
          : `DELETE FROM ${name}`,
      )
    for (const name of skippedTables) await tx.run(`DELETE FROM ${name}`)
  })

const finishCopy = (from: Reader, to: Database, { triggers }: Plan, { copyId, requireFree }: Begun): Promise<void> =>
  to.transaction(async tx => {
    await requireOwn(tx, copyId)
    await requireFree(tx)
    for (const { sql } of triggers) await tx.run(sql)
    await tx.run('DELETE FROM sqlite_sequence WHERE name <> ?', [merged])
    for (const { name, seq } of await from.all<{ name: string; seq: number }>(
      'SELECT name, seq FROM sqlite_sequence WHERE name <> ?',
      [merged],
    ))
      await tx.run('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', [name, seq])
    // Full-text tables are not copied but indexed again.
    await tx.run(
      `INSERT OR IGNORE INTO unindexed_cards SELECT id FROM cards WHERE deleted_at IS NULL AND kind <> 'assistant'`,
    )
    await markRemarks(tx)
    await tx.run(`DELETE FROM server_settings WHERE name = 'unfinished-copy'`)
  })

/** A stalled copy must not write once another one has started. */
async function requireOwn(tx: Transaction, copyId: string): Promise<void> {
  const present = await tx.get<{ value: string }>(`SELECT value FROM server_settings WHERE name = 'unfinished-copy'`)
  if (present?.value !== JSON.stringify(copyId))
    throw new Problem('CONFLICT', 'The copy stopped, because another copy to the target has started.')
}

export const isUnfinished = async (db: Reader): Promise<boolean> =>
  (await db.get(`SELECT 1 AS there FROM server_settings WHERE name = 'unfinished-copy'`)) !== undefined

/** @throws Problem CONFLICT if a copy into the database was started and not finished */
export async function requireFinished(db: Reader): Promise<void> {
  if (await isUnfinished(db))
    throw new Problem('CONFLICT', 'The database contains an incomplete copy. Copy the board again: board database move')
}

async function requireEmpty(to: Database): Promise<void> {
  const holds = await to.get<{ board: number; unfinished: number }>(
    `SELECT EXISTS (SELECT 1 FROM projects) OR EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM events) AS board, EXISTS (SELECT 1 FROM server_settings WHERE name = 'unfinished-copy') AS unfinished`,
  )
  if (holds!.board === 1 && holds!.unfinished === 0)
    throw new Problem('CONFLICT', 'The target already contains a board. To replace it, use --replace')
}

/** The tables whose `host` names the machine with the folders of a project. */
const tablesOfMachines = new Set(['projects', 'orphaned_worktrees'])

async function copyTable(
  from: Reader,
  to: Database,
  table: Table,
  { hostOf, copyId }: Pick<CopyOptions, 'hostOf'> & { copyId: string },
  step: (rows: number) => void,
): Promise<Tally> {
  const [hash, hostAt] = [createHash('sha256'), tablesOfMachines.has(table.name) ? table.columns.indexOf('host') : -1]
  let rows = 0
  for await (const page of pagesOf(from, table)) {
    if (hostAt >= 0) for (const row of page) row[hostAt] = hostOf(row[hostAt] as string | null)
    note(hash, page)
    rows += page.length
    const atOnce = Math.max(1, Math.floor(maxParameters / table.columns.length))
    for (let at = 0; at < page.length; at += atOnce) {
      const part = page.slice(at, at + atOnce)
      await to.transaction(async tx => {
        await requireOwn(tx, copyId)
        await tx.run(
          `INSERT INTO ${table.name} (${table.columns.join(', ')}) VALUES ${part.map(row => `(${row.map(() => '?').join(', ')})`).join(', ')}`,
          part.flat(),
        )
      })
    }
    step(page.length)
  }
  return { table: table.name, rows, sha256: hash.digest('hex') }
}

async function tally(
  db: Reader,
  table: Table,
  step: (rows: number) => void,
): Promise<{ rows: number; sha256: string }> {
  const hash = createHash('sha256')
  let rows = 0
  for await (const page of pagesOf(db, table)) {
    note(hash, page)
    rows += page.length
    step(page.length)
  }
  return { rows, sha256: hash.digest('hex') }
}

const note = (hash: Hash, page: readonly Value[][]) => {
  for (const row of page) hash.update(`${JSON.stringify(row)}\n`)
}

/** Pages through a table in the order of its key. A page that a server rejects as too large is halved. */
async function* pagesOf(db: Reader, { name, columns, key }: Table): AsyncGenerator<Value[][]> {
  const wanted = name === 'server_settings' ? `name NOT IN (${ownSettings.map(each => `'${each}'`).join(', ')})` : '1'
  const sql = (isFirst: boolean) =>
    `SELECT ${columns.join(', ')} FROM ${name} WHERE ${wanted} ${isFirst ? '' : `AND (${key.join(', ')}) > (${key.map(() => '?').join(', ')})`} ORDER BY ${key.join(', ')} LIMIT ?`
  let last: Value[] | undefined
  for (let limit = maxRows; ;) {
    const page = await db
      .all<Record<string, Value>>(sql(last === undefined), [...(last ?? []), limit])
      .catch((error: unknown) => {
        if (limit === minRows || !/too large|RESPONSE_TOO_LARGE/i.test(String((error as Error).message))) throw error
        return undefined
      })
    if (page === undefined) {
      limit = Math.max(minRows, Math.floor(limit / 8))
      continue
    }
    if (page.length > 0) yield page.map(row => columns.map(column => row[column]))
    if (page.length < limit) return
    last = key.map(column => page.at(-1)![column])
    limit = Math.min(maxRows, limit * 2)
  }
}

/** The tables of a board, each after the tables that it references, and the triggers. */
interface Plan {
  tables: Table[]
  triggers: Array<{ name: string; sql: string }>
}

function planCopy(): Plan {
  const database = new LibsqlDatabase(':memory:')
  try {
    for (const statement of schemaOf(schemaVersion)) database.exec(statement)
    const rows = <T>(sql: string) => database.prepare(sql).all([]) as T[]
    const names = rows<{ name: string; type: string; schema: string }>('PRAGMA table_list')
      .filter(
        ({ name, type, schema }) =>
          type === 'table' &&
          schema === 'main' &&
          !name.startsWith('sqlite_') &&
          !skippedTables.has(name) &&
          name !== merged,
      )
      .map(({ name }) => name)
      .sort()
    const refersTo = new Map(
      names.map(name => [
        name,
        rows<{ table: string }>(`PRAGMA foreign_key_list(${name})`)
          .map(({ table }) => table)
          .filter(table => table !== name),
      ]),
    )
    const ordered: string[] = []
    while (ordered.length < names.length) {
      const next = names.filter(
        name =>
          !ordered.includes(name) &&
          refersTo.get(name)!.every(table => ordered.includes(table) || skippedTables.has(table)),
      )
      if (next.length === 0) throw new Error('The references between the tables form a cycle.')
      ordered.push(...next)
    }
    const tables = ordered.map(name => {
      const columns = rows<{ name: string; pk: number }>(`PRAGMA table_info(${name})`)
      return {
        name,
        columns: columns.map(column => column.name),
        key: columns
          .filter(({ pk }) => pk > 0)
          .sort((a, b) => a.pk - b.pk)
          .map(column => column.name),
      }
    })
    return {
      tables,
      triggers: rows<{ name: string; sql: string }>(
        `SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name`,
      ),
    }
  } finally {
    database.close()
  }
}
