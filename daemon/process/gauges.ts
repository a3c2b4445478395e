import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { App } from '../../src/app.ts'
import { version } from '../../src/config/version.ts'
import { MonitorStatus } from '../../src/contract/automation/monitors.ts'
import { countByState } from '../../src/domain/agents/budgets.ts'
import { isThere, listDaemons, sizeOfDatabase } from '../../src/store/server/daemons.ts'
import { countDeliveries } from '../../src/store/automation/deliveries.ts'
import { countMonitorsByStatus } from '../../src/store/automation/monitors.ts'
import { countOpenSessions } from '../../src/store/agents/sessions.ts'

const sessionStatuses = ['queued', 'running', 'waiting'] as const

/** Registers the metrics of a server that are read on demand. */
export function registerGauges(
  app: Pick<App, 'config' | 'db' | 'logs' | 'membership' | 'metrics' | 'outbox'>,
  sockets: () => number,
): void {
  const { metrics, config, db } = app
  metrics.gauge({
    name: 'board_info',
    help: 'The version of this server.',
    label: 'version',
    read: () => ({ [version]: 1 }),
  })
  metrics.gauge({ name: 'board_sockets', help: 'Clients that listen for live events.', read: sockets })
  metrics.gauge({
    name: 'board_monitors',
    help: 'Monitors, by status.',
    label: 'status',
    read: async () => byKind(MonitorStatus.options, await countMonitorsByStatus(db)),
  })
  metrics.gauge({
    name: 'board_webhook_deliveries',
    help: 'Stored webhook deliveries, by status.',
    label: 'status',
    read: async () => byKind(['pending', 'succeeded', 'failed'], await countDeliveries(db)),
  })
  metrics.gauge({
    name: 'board_events_total',
    help: 'Events since the database was created.',
    counts: true,
    read: () => app.outbox.lastSeq(),
  })
  metrics.gauge({
    name: 'board_log_dropped_total',
    help: 'Dropped log entries, by destination.',
    counts: true,
    label: 'to',
    read: () => {
      const { files, database, export: sent } = app.logs.figures()
      return { files: files.dropped, database: database.dropped, export: sent.dropped }
    },
  })
  metrics.gauge({
    name: 'board_database_bytes',
    help: 'Size of the database and, if it is a file, of its log.',
    label: 'file',
    read: async (): Promise<Record<string, number>> =>
      db.isShared
        ? { database: await sizeOfDatabase(db) }
        : {
            database: await sizeOf(join(config.dataDir, 'board.db')),
            wal: await sizeOf(join(config.dataDir, 'board.db-wal')),
          },
  })
  registerAgentGauges(app)
  if (db.isShared) registerDaemonGauges(app)
}

/** Registers the metrics of agents and their limits. */
function registerAgentGauges({ metrics, config, db }: Pick<App, 'metrics' | 'config' | 'db'>): void {
  metrics.gauge({
    name: 'board_agent_sessions',
    help: 'Agent sessions that have not ended, by status.',
    label: 'status',
    read: async () => byKind(sessionStatuses, await countOpenSessions(db)),
  })
  metrics.gauge({
    name: 'board_budgets',
    help: 'Budgets, by state: ok, warned (80 % is spent), exhausted.',
    label: 'state',
    read: async () => ({ ...(await countByState(db, config.clock().toISOString())) }),
  })
  metrics.gauge({
    name: 'board_agent_slots',
    help: 'Maximum number of concurrent agents.',
    read: () => config.agentSlots,
  })
}

/** Registers the metrics of the daemons that share the database. */
function registerDaemonGauges({ metrics, db, membership }: Pick<App, 'metrics' | 'db' | 'membership'>): void {
  metrics.gauge({
    name: 'board_daemons',
    help: 'Daemons on the database: active ones, and those that disappeared without a shutdown in the last day.',
    label: 'state',
    read: async () => {
      const daemons = await listDaemons(db)
      const there = daemons.filter(isThere).length
      return { there, gone: daemons.length - there }
    },
  })
  metrics.gauge({
    name: 'board_duties',
    help: 'Whether this daemon holds the single-daemon duties of its machine and of the board.',
    label: 'duty',
    read: () => ({ machine: Number(membership.has('machine')), board: Number(membership.has('board')) }),
  })
  metrics.gauge({
    name: 'board_heartbeat_age_seconds',
    help: 'Seconds since the last heartbeat of this daemon in the database. Over 3, another daemon takes over its duties.',
    read: () => membership.secsSinceHeartbeat(),
  })
}

/** The count of each kind, including 0 for kinds without a count. */
const byKind = (kinds: readonly string[], counts: ReadonlyArray<{ kind: string; total: number }>) =>
  Object.fromEntries(kinds.map(kind => [kind, counts.find(each => each.kind === kind)?.total ?? 0]))

const sizeOf = async (path: string) => (await stat(path).catch(() => undefined))?.size ?? 0
