import type { InferOutput } from 'valibot'
import type { Daemon } from '../contract/server/server.ts'
import { isThere, type DaemonRow } from '../store/server/daemons.ts'

/** @param thisId the daemon that answers */
export const daemon = (row: DaemonRow, thisId: string): InferOutput<typeof Daemon> => ({
  id: row.id,
  machine: row.host,
  url: row.url,
  version: row.version,
  startedAt: row.startedAt,
  seenSecsAgo: Math.max(0, Math.round(row.seenMsAgo / 1000)),
  isThere: isThere(row),
  isThis: row.id === thisId,
  duties: (['machine', 'board'] as const).filter(duty =>
    (JSON.parse(row.leases ?? '[]') as string[]).some(name => name.split(':')[0] === duty),
  ),
})
