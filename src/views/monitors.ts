import type { InferOutput } from 'valibot'
import type { Monitor } from '../contract/monitors.ts'
import type { MonitorRow } from '../store/monitors.ts'

export const monitor = (row: MonitorRow): InferOutput<typeof Monitor> => ({
  id: String(row.id),
  cardId: String(row.cardId),
  command: row.command,
  intervalSecs: row.intervalSecs,
  description: row.description,
  cwd: row.cwd,
  allowUnsandboxed: true,
  status: row.status,
  exitCode: row.exitCode,
  error: row.error,
  output: row.output,
  lastStartedAt: row.lastStartedAt,
  lastFinishedAt: row.lastFinishedAt,
  nextRunAt: row.nextRunAt,
  consecutiveFailures: row.consecutiveFailures,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})
