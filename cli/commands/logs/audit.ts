import type { AuditEntry } from '../../../src/contract/server/audit.ts'
import type { Context } from '../../context/context.ts'
import { usage } from '../../failures/failure.ts'
import type { Column } from '../../output/output.ts'
import { followPages } from '../../requests/followPages.ts'

/** The query options of the audit log. */
export interface AuditOptions {
  follow?: boolean
  limit: number
  level?: string
  search?: string
  since?: string
  actor?: string
  action?: string
}

const maxAtOnce = 1000
const columns: Column<AuditEntry>[] = [
  { name: 'id', style: 'id', align: 'right', value: entry => entry.id },
  { name: 'at', style: 'time', value: entry => entry.at },
  { name: 'who', value: entry => entry.actor.name ?? entry.actor.kind },
  {
    name: 'what',
    value: entry => `${entry.action}${entry.outcome === 'failed' ? ' failed' : ''}${repetitionText(entry)}`,
  },
  { name: 'on', value: ({ target }) => target && subjectText(target) },
  { name: 'by', value: ({ via }) => subjectText(via) },
  { name: 'from', value: entry => entry.address },
  { name: 'detail', style: 'text', value: detailText },
  // Fields of the entry itself, for --json id,actor.
  ...(['outcome', 'actor', 'action', 'target', 'via', 'address', 'count'] as const).map((name): Column<AuditEntry> => ({
    name,
    hidden: true,
    value: entry => entry[name],
  })),
]

/** Shows the actions with their authors and permissions, newest last. */
export async function showAudit(context: Context, { follow, limit, level, ...filter }: AuditOptions): Promise<void> {
  if (level !== undefined)
    throw usage('--level and --audit are mutually exclusive', {
      hint: 'entries of the audit log have no level: use --action or --search',
    })
  const entries = await readEntries(context, filter, limit)
  if (!follow) return context.out.list(entries, columns, { empty: 'No entries.' })
  for (const entry of entries) await context.out.row(entry, columns)
  // Followed entries are newer than `since`.
  const { since: _, ...going } = filter
  const after = Math.max(0, ...entries.map(({ id }) => Number(id)))
  await followPages(context.out, after || (await lastId(context)), {
    maxAtOnce,
    read: last => context.client.audit.list({ ...going, after: last, limit: maxAtOnce }).then(({ items }) => items),
    print: entry => context.out.row(entry, columns),
  })
}

type Filter = Pick<AuditOptions, 'search' | 'since' | 'actor' | 'action'>

/** The newest entries, oldest first. */
async function readEntries({ client }: Context, filter: Filter, limit: number): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  let cursor: string | undefined
  while (entries.length < limit) {
    const page = await client.audit.list({ ...filter, limit: Math.min(maxAtOnce, limit - entries.length), cursor })
    entries.push(...page.items)
    if (page.nextCursor === null) break
    cursor = page.nextCursor
  }
  return entries.toReversed()
}

const lastId = async ({ client }: Context): Promise<number> =>
  Number((await client.audit.list({ limit: 1 })).items[0]?.id ?? 0)

const subjectText = ({ kind, id }: { kind: string; id: string | null }) => (id === null ? kind : `${kind} ${id}`)
const repetitionText = ({ count }: AuditEntry) => (count > 1 ? ` ×${count}` : '')

function detailText({ detail }: AuditEntry): string {
  return Object.entries(detail)
    .map(([name, value]) => `${name}=${value === null ? 'none' : String(value)}`)
    .join(' ')
}
