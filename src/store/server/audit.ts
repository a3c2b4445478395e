import type { Database, Reader, Transaction, Value } from '../engine/database.ts'

/** An entry of the audit log. `detail` is JSON text; `count` is the number of failures that it represents. */
export interface AuditRow {
  id: number
  at: string
  outcome: 'ok' | 'failed'
  action: string
  actorKind: string
  actorId: number | null
  actorName: string | null
  targetKind: string | null
  targetId: string | null
  viaKind: string
  viaId: string | null
  address: string | null
  detail: string
  count: number
}
export type NewAuditRow = Omit<AuditRow, 'id' | 'at' | 'count'>

/**
 * `action` is a prefix: `keys` matches `keys.create`. If `after` is an ID, the oldest entries come first, otherwise the newest.
 */
export interface AuditFilter {
  action?: string
  actor?: string
  outcome?: AuditRow['outcome']
  since?: string
  until?: string
  search?: string
  after?: number
  before?: { at: string; id: number }
  limit: number
}

const fields: ReadonlyArray<readonly [column: string, field: keyof AuditRow]> = [
  ['id', 'id'],
  ['at', 'at'],
  ['outcome', 'outcome'],
  ['action', 'action'],
  ['actor_kind', 'actorKind'],
  ['actor_id', 'actorId'],
  ['actor_name', 'actorName'],
  ['target_kind', 'targetKind'],
  ['target_id', 'targetId'],
  ['via_kind', 'viaKind'],
  ['via_id', 'viaId'],
  ['address', 'address'],
  ['detail', 'detail'],
  ['count', 'count'],
]
const columns = fields.map(([column, field]) => `${column} AS ${field}`).join(', ')
const insertion = (given: typeof fields) =>
  `INSERT INTO audit_entries (${given.map(([column]) => column).join(', ')}) VALUES (${given.map(() => '?').join(', ')})`
const withoutId = fields.slice(1)
const [insertNew, insertWithId] = [insertion(withoutId), insertion(fields)]
const valuesOf = (row: Partial<AuditRow>, of: typeof fields): Value[] => of.map(([, field]) => row[field])

/** Inserts an entry in the transaction of the change that it records. */
export function insertAuditRow(tx: Transaction, row: NewAuditRow): void {
  tx.enqueue(insertNew, valuesOf({ ...row, at: tx.now, count: 1 }, withoutId))
}

/** Inserts the first failure of a minute. @returns the ID of its entry */
export const insertAuditFailure = async (tx: Transaction, row: NewAuditRow): Promise<number> =>
  (await tx.run(insertNew, valuesOf({ ...row, at: tx.now, count: 1 }, withoutId))).lastId

/** Updates the number of failures in an entry. The entry keeps its target only if all of its failures have the same target. */
export function countAuditFailures(
  tx: Transaction,
  { id, count, targetId }: Pick<AuditRow, 'id' | 'count' | 'targetId'>,
): void {
  tx.enqueue('UPDATE audit_entries SET count = ?, target_id = ? WHERE id = ?', [count, targetId, id])
}

export function listAuditRows(db: Reader, filter: AuditFilter): Promise<AuditRow[]> {
  const { action, actor, outcome, since, until, search, after, before, limit } = filter
  const wheres: Array<[sql: string, ...args: Value[]]> = []
  const add = (...where: (typeof wheres)[number]) => wheres.push(where)
  if (action !== undefined) add(`(action = ? OR substr(action, 1, ?) = ?)`, action, action.length + 1, `${action}.`)
  if (actor !== undefined) add(`instr(lower(coalesce(actor_name, '')), ?) > 0`, actor.toLowerCase())
  if (outcome !== undefined) add('outcome = ?', outcome)
  if (since !== undefined) add('at >= ?', since)
  if (until !== undefined) add('at < ?', until)
  if (search !== undefined) add(`instr(lower(${searched}), ?) > 0`, search.toLowerCase())
  if (after !== undefined) add('id > ?', after)
  if (before !== undefined) add('(at, id) < (?, ?)', before.at, before.id)
  return db.all(
    `SELECT ${columns} FROM audit_entries ${wheres.length > 0 ? `WHERE ${wheres.map(([sql]) => sql).join(' AND ')}` : ''} ORDER BY ${after === undefined ? 'at DESC, id DESC' : 'id'} LIMIT ?`,
    [...wheres.flatMap(([, ...args]) => args), limit],
  )
}

const searched = [
  'action',
  'actor_name',
  "target_kind || ' ' || target_id",
  "via_kind || ' ' || via_id",
  'address',
  'detail',
]
  .map(text => `coalesce(${text}, '')`)
  .join(` || ' ' || `)

/**
 * Deletes some entries older than `before`, and failures beyond the newest `maxFailures`.
 * @returns the number of deleted entries
 */
export async function pruneAudit(
  tx: Transaction,
  { before, maxFailures, limit }: { before: string; maxFailures: number; limit: number },
): Promise<number> {
  const old = await tx.run(
    'DELETE FROM audit_entries WHERE id IN (SELECT id FROM audit_entries WHERE at < ? ORDER BY at, id LIMIT ?)',
    [before, limit],
  )
  const over = await tx.run(
    `DELETE FROM audit_entries WHERE id IN (SELECT id FROM audit_entries WHERE outcome = 'failed' AND id <= (SELECT id FROM audit_entries WHERE outcome = 'failed' ORDER BY id DESC LIMIT 1 OFFSET ?) ORDER BY id LIMIT ?)`,
    [maxFailures, limit],
  )
  return old.changes + over.changes
}

const pageRows = 500

/**
 * Merges the audit entries of one board into those of another board. An entry keeps its ID unless a different entry has it; duplicates are
 * inserted once.
 */
export async function mergeAudit(from: Reader, to: Database): Promise<void> {
  if (!(await from.get(`SELECT 1 FROM sqlite_master WHERE name = 'audit_entries'`))) return
  let last = 0
  for (;;) {
    const page = await from.all<AuditRow>(`SELECT ${columns} FROM audit_entries WHERE id > ? ORDER BY id LIMIT ?`, [
      last,
      pageRows,
    ])
    if (page.length === 0) return
    await to.transaction(tx => mergePage(tx, page))
    last = page.at(-1)!.id
  }
}

async function mergePage(tx: Transaction, page: readonly AuditRow[]): Promise<void> {
  const there = new Map(
    (
      await tx.all<AuditRow>(`SELECT ${columns} FROM audit_entries WHERE id BETWEEN ? AND ?`, [
        page[0]!.id,
        page.at(-1)!.id,
      ])
    ).map(row => [row.id, row]),
  )
  for (const row of page.filter(({ id }) => !there.has(id))) tx.enqueue(insertWithId, valuesOf(row, fields))
  for (const row of page) {
    const other = there.get(row.id)
    if (!other) continue
    if (!isSame(row, other)) tx.enqueue(insertNew, valuesOf(row, withoutId))
    else if (row.count > other.count) countAuditFailures(tx, row)
  }
}

/** Ignores fields that can have changed since: the count of a failure, and its target. */
const isSame = (a: AuditRow, b: AuditRow): boolean =>
  fields.every(([, field]) => field === 'count' || field === 'targetId' || a[field] === b[field]) &&
  (a.targetId === b.targetId || a.outcome === 'failed')

/** An entry about the server's own action. */
export const bySystem = (action: string, target: { kind: string; id: string | number }, why: string): NewAuditRow => ({
  outcome: 'ok',
  action,
  actorKind: 'system',
  actorId: null,
  actorName: null,
  targetKind: target.kind,
  targetId: String(target.id),
  viaKind: 'system',
  viaId: why,
  address: null,
  detail: '{}',
})
