import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { App } from '../src/app.ts'
import { version } from '../src/config/version.ts'
import { countOpenSessions } from '../src/store/sessions.ts'

const sessionStatuses = ['queued', 'running', 'waiting'] as const

/** Names the figures of a server that are read when somebody asks for them. */
export function describeFigures(app: App, sockets: () => number): void {
  const { metrics, config, db } = app
  metrics.gauge({ name: 'board_info', help: 'The version of this server.', label: 'version', read: () => ({ [version]: 1 }) })
  metrics.gauge({ name: 'board_sockets', help: 'Clients that listen for live events.', read: sockets })
  metrics.gauge({ name: 'board_agent_sessions', help: 'Agent sessions that have not ended, by status.', label: 'status', read: async () => {
    const counts = await countOpenSessions(db)
    return Object.fromEntries(sessionStatuses.map(status => [status, counts.find(each => each.status === status)?.total ?? 0]))
  } })
  metrics.gauge({ name: 'board_agent_slots', help: 'How many agents may work at once.', read: () => config.agentSlots })
  metrics.gauge({ name: 'board_events_total', help: 'Events since the database was made.', counts: true, read: () => app.outbox.lastSeq() })
  metrics.gauge({ name: 'board_log_dropped_total', help: 'Entries of the log that were not kept or sent, by where they should have gone.', counts: true, label: 'to', read: () => {
    const { files, database, export: sent } = app.logs.figures()
    return { files: files.dropped, database: database.dropped, export: sent.dropped }
  } })
  metrics.gauge({ name: 'board_database_bytes', help: 'The size of the database file and of its log.', label: 'file', read: async () => ({ database: await sizeOf(join(config.dataDir, 'board.db')), wal: await sizeOf(join(config.dataDir, 'board.db-wal')) }) })
}

const sizeOf = async (path: string) => (await stat(path).catch(() => undefined))?.size ?? 0
