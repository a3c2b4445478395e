import * as v from 'valibot'
import { Count, Id, limit, queryInteger, text, Time } from '../fields.ts'
import { get, superAdmin } from '../route.ts'

/** The author. The operator of the machine has no ID before the first user exists. The author of a failed sign-in is unknown. */
const Actor = v.object({
  kind: v.picklist(['user', 'agent', 'system', 'nobody']),
  id: v.nullable(Id),
  name: v.nullable(v.string()),
})
/**
 * The permissions that were used: a sign-in, an API key, an agent's session, the local token of the machine's account, or the server
 * itself.
 */
const Via = v.object({
  kind: v.picklist(['sign-in', 'key', 'agent', 'local', 'ticket', 'system']),
  id: v.nullable(v.string()),
})
/**
 * `action` is the route that was called, `<resource>.<name>`. `count` is the number of failures from one address in one minute
 * that the entry represents.
 */
export const AuditEntry = v.object({
  id: Id,
  at: Time,
  outcome: v.picklist(['ok', 'failed']),
  actor: Actor,
  action: v.string(),
  target: v.nullable(v.object({ kind: v.string(), id: v.nullable(v.string()) })),
  via: Via,
  address: v.nullable(v.string()),
  detail: v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.null()])),
  count: Count,
})
export type AuditEntry = v.InferOutput<typeof AuditEntry>

const Cursor = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z_\d{1,15}$/, 'must be a nextCursor of this list'),
  v.transform(cursor => {
    const [at, id] = cursor.split('_') as [string, string]
    return { at, id: Number(id) }
  }),
)
/**
 * `action` is a route, or a resource for all of its routes; `actor` is part of a name. If `after` is an ID, the list contains
 * newer entries, the oldest first.
 */
const ListAudit = v.strictObject({
  action: v.optional(text(1, 100)),
  actor: v.optional(text(1, 254)),
  outcome: v.optional(v.picklist(['ok', 'failed'], 'must be ok or failed')),
  search: v.optional(text(1, 500)),
  since: v.optional(Time),
  until: v.optional(Time),
  after: v.optional(queryInteger(0)),
  cursor: v.optional(Cursor),
  limit: limit(100, 1000),
})

export const audit = {
  list: get('/api/audit', {
    who: superAdmin,
    summary: 'List audit log entries, newest first',
    input: ListAudit,
    output: v.object({ items: v.array(AuditEntry), nextCursor: v.nullable(v.string()) }),
  }),
}
