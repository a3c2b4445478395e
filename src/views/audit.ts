import type { AuditEntry } from '../contract/server/audit.ts'
import type { AuditRow } from '../store/server/audit.ts'

const auditEntry = (row: AuditRow): AuditEntry => ({
  id: String(row.id),
  at: row.at,
  outcome: row.outcome,
  actor: {
    kind: row.actorKind as AuditEntry['actor']['kind'],
    id: row.actorId === null ? null : String(row.actorId),
    name: row.actorName,
  },
  action: row.action,
  target: row.targetKind === null ? null : { kind: row.targetKind, id: row.targetId },
  via: { kind: row.viaKind as AuditEntry['via']['kind'], id: row.viaId },
  address: row.address,
  detail: JSON.parse(row.detail) as AuditEntry['detail'],
  count: row.count,
})

/** A page of entries, with the cursor of the next page. */
export const auditPage = (rows: readonly AuditRow[], limit: number) => ({
  items: rows.map(auditEntry),
  nextCursor: rows.length < limit ? null : `${rows.at(-1)!.at}_${rows.at(-1)!.id}`,
})
