import { Problem } from '../../contract/errors.ts'
import type { Database, Reader, Transaction, Value, Written } from '../engine/database.ts'
import { nowMs } from '../engine/databaseTime.ts'

/** The duration of a lease. A daemon without a heartbeat for this time loses its leases. */
const leaseMs = 3000

/** A daemon on this database, and the age of its last heartbeat. */
export interface DaemonRow {
  id: string
  host: string
  url: string
  version: string
  startedAt: string
  seenMsAgo: number
  leases: string | null
}

export const isThere = ({ seenMsAgo }: Pick<DaemonRow, 'seenMsAgo'>): boolean => seenMsAgo <= leaseMs

/** A daemon's description of itself. */
export interface Self {
  id: string
  host: string
  url: string
  version: string
  startedAt: string
}
/** The result of a heartbeat: the tokens of the daemon's leases, undefined for leases of other daemons, and the database's time. */
export interface HeartbeatResult {
  tokens: Array<number | undefined>
  nowMs: number
}

const silentMs = 24 * 3_600_000
const isCopied = `EXISTS (SELECT 1 FROM server_settings WHERE name = 'unfinished-copy')`

/**
 * Records a daemon's heartbeat and takes or renews its leases, in one message. The message has no effect if it arrives after its
 * deadline, by the database's clock, because its daemon was stalled. It also has no effect while a board is copied into the
 * database, because the copy has already checked for running daemons.
 * @throws Problem CONFLICT, DATABASE_BUSY in these cases
 */
export async function recordHeartbeat(
  db: Database,
  self: Self,
  leases: readonly string[],
  untilMs: number | undefined,
): Promise<HeartbeatResult> {
  const inTime = `NOT ${isCopied} AND (?6 IS NULL OR ${nowMs} <= ?6)`
  const until = untilMs === undefined ? null : Math.round(untilMs)
  const results = await db.batch([
    {
      sql: `INSERT INTO daemons (id, host, url, version, started_at, seen_at_ms) SELECT ?1, ?2, ?3, ?4, ?5, ${nowMs} WHERE ${inTime} ON CONFLICT DO UPDATE SET seen_at_ms = excluded.seen_at_ms, url = excluded.url`,
      args: [self.id, self.host, self.url, self.version, self.startedAt, until],
    },
    { sql: `DELETE FROM daemons WHERE seen_at_ms < ${nowMs} - ?`, args: [silentMs] },
    { sql: `DELETE FROM leases WHERE name LIKE 'credential:%' AND ends_at_ms < ${nowMs} - ?`, args: [silentMs] },
    ...leases.map(name =>
      takingLease(name, self.id, leaseMs, {
        only: `NOT ${isCopied} AND (?4 IS NULL OR ${nowMs} <= ?4)`,
        args: [until],
      }),
    ),
    { sql: `SELECT ${nowMs} AS nowMs, ${isCopied} AS isCopied` },
  ])
  const [last] = results.at(-1) as unknown as [{ nowMs: number; isCopied: number }]
  if (last.isCopied) throw new Problem('CONFLICT', 'A board is being copied into the database.')
  if (until !== null && last.nowMs > until) throw new Problem('DATABASE_BUSY', 'The heartbeat was too late.')
  return { nowMs: last.nowMs, tokens: results.slice(3, -1).map(([row]) => row?.token as number | undefined) }
}

export const forgetDaemon = async (tx: Transaction, id: string): Promise<void> => {
  tx.enqueue('UPDATE leases SET ends_at_ms = 0 WHERE daemon_id = ?', [id])
  tx.enqueue('DELETE FROM daemons WHERE id = ?', [id])
}

/** All daemons by host, and the names of the leases that they hold, as JSON. */
export const listDaemons = (db: Reader): Promise<DaemonRow[]> =>
  db.all(
    `SELECT d.id, d.host, d.url, d.version, d.started_at AS startedAt, ${nowMs} - d.seen_at_ms AS seenMsAgo,
   (SELECT json_group_array(l.name) FROM leases l WHERE l.daemon_id = d.id AND l.ends_at_ms > ${nowMs}) AS leases FROM daemons d ORDER BY d.host, d.started_at, d.id`,
  )

/**
 * The machine of a project's folder, the daemon that holds the project's lease, and the age of the machine's last
 * heartbeat.
 */
export interface LeaseHolder {
  host: string | null
  daemonId: string | null
  url: string | null
  seenMsAgo: number | null
}
export const readLeaseHolder = (db: Reader, projectId: number): Promise<LeaseHolder | undefined> =>
  db.get(
    `SELECT p.host, d.id AS daemonId, d.url, (SELECT ${nowMs} - max(seen_at_ms) FROM daemons WHERE host = p.host) AS seenMsAgo FROM projects p LEFT JOIN leases l ON l.name = 'machine:' || p.host AND l.ends_at_ms > ${nowMs} LEFT JOIN daemons d ON d.id = l.daemon_id WHERE p.id = ?`,
    [projectId],
  )

/** Takes a free lease, or renews it if this daemon has it. @returns its token. Undefined if another daemon has the lease */
export async function takeLease(
  tx: Transaction,
  name: string,
  daemonId: string,
  forMs: number,
): Promise<number | undefined> {
  const { sql, args } = takingLease(name, daemonId, forMs)
  return (await tx.all<{ token: number }>(sql, args))[0]?.token
}

const takingLease = (
  name: string,
  daemonId: string,
  forMs: number,
  { only = '1', args = [] }: { only?: string; args?: Value[] } = {},
): Written => ({
  sql: `INSERT INTO leases (name, daemon_id, token, ends_at_ms) SELECT ?1, ?2, 1, ${nowMs} + ?3 WHERE ${only}
   ON CONFLICT DO UPDATE SET daemon_id = excluded.daemon_id, token = token + (daemon_id <> excluded.daemon_id), ends_at_ms = excluded.ends_at_ms
   WHERE daemon_id = excluded.daemon_id OR ends_at_ms <= ${nowMs} RETURNING token`,
  args: [name, daemonId, forMs, ...args],
})

/** Permanently releases a lease. */
export const dropLease = async (tx: Transaction, name: string, daemonId: string): Promise<void> => {
  tx.enqueue('DELETE FROM leases WHERE name = ? AND daemon_id = ?', [name, daemonId])
}

/** Whether a lease has not changed hands since it was taken with this token. */
export const holdsLease = async (db: Reader, name: string, daemonId: string, token: number): Promise<boolean> =>
  (await db.get('SELECT 1 AS held FROM leases WHERE name = ? AND daemon_id = ? AND token = ?', [
    name,
    daemonId,
    token,
  ])) !== undefined

/** The other machines that have projects. */
export const otherMachines = async (db: Reader, machine: string): Promise<string[]> =>
  (
    await db.all<{ host: string }>(
      'SELECT DISTINCT host FROM projects WHERE host IS NOT NULL AND host <> ? ORDER BY host',
      [machine],
    )
  ).map(({ host }) => host)

/** With a single machine, projects have no machine name. */
export const clearHosts = async (tx: Transaction): Promise<void> => {
  tx.enqueue('UPDATE projects SET host = NULL WHERE host IS NOT NULL')
}

/** The size of the database on a server in bytes, without its log. */
export const sizeOfDatabase = async (db: Reader): Promise<number> =>
  (await db.get<{ bytes: number }>('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size'))!
    .bytes
