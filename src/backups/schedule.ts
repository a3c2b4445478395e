import { Cron } from 'croner'
import type { ServerConfig } from '../config/server.ts'
import { invalid } from '../contract/errors.ts'
import type { Audit } from '../identity/audit.ts'
import { bySystem } from '../store/server/audit.ts'
import type { Backups } from './backups.ts'

/**
 * Returns the next due time, from the time of the last run (undefined if there was none) and the start of the schedule.
 * Undefined if it never becomes due.
 */
export type Schedule = (last: Date | undefined, since: Date) => Date | undefined

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 }
const maxMs = 366 * unitMs.d
const retryMs = 15 * 60_000

/**
 * Parses an interval such as `30m`, `6h` or `1d`, or a cron expression in the server's time zone. An interval is due at once if there was
 * no run yet.
 * @throws Problem VALIDATION_FAILED
 */
export function parseSchedule(text: string): Schedule {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text.trim()) ?? []
  if (count !== undefined) {
    const everyMs = Number(count) * unitMs[unit as keyof typeof unitMs]
    if (everyMs < unitMs.m || everyMs > maxMs) throw invalid('backup-every', 'must be from 1m to 366d')
    return (last, since) => new Date(last === undefined ? since : last.getTime() + everyMs)
  }
  try {
    const cron = new Cron(text, { paused: true })
    if (cron.nextRun() === null) throw new Error('The schedule has no next run.')
    return (last, since) => cron.nextRun(last ?? since) ?? undefined
  } catch {
    throw invalid(
      'backup-every',
      'must be an interval such as 30m, 6h or 1d, or a cron expression with a future run, such as "0 3 * * *"',
    )
  }
}

/**
 * Returns the function that creates a backup when one is due, and then deletes the oldest scheduled backups. A backup that was missed while
 * the server was down is created when the server starts. A failed backup is retried a quarter of an hour later.
 */
export function scheduledBackups({
  backups,
  config,
  audit,
}: {
  backups: Pick<Backups, 'create' | 'list' | 'prune'>
  config: Pick<ServerConfig, 'clock' | 'backupEvery' | 'backupKeep'>
  audit: Pick<Audit, 'add'>
}): () => Promise<void> {
  const schedule = parseSchedule(config.backupEvery!)
  let since = config.clock()
  let last: Date | undefined
  let retryAt = since
  return async () => {
    const now = config.clock()
    // A recorded time in the future means that the clock was set back.
    if (since > now) since = now
    if (last && last > now) last = undefined
    last ??= await lastMade(backups, now)
    const dueAt = schedule(last, since)
    if (dueAt === undefined || dueAt > now || (retryAt > now && retryAt.getTime() - now.getTime() <= retryMs)) return
    retryAt = new Date(now.getTime() + retryMs)
    const made = await backups.create('timetable', false)
    last = new Date(made.createdAt)
    retryAt = now
    await audit.add(bySystem('backups.create', { kind: 'backup', id: made.filename }, 'timetable'))
    await backups.prune(config.backupKeep)
  }
}

/** The time of the newest good scheduled backup. A future time does not count, because the clock was set back since. */
async function lastMade(backups: Pick<Backups, 'list'>, now: Date): Promise<Date | undefined> {
  const newest = (await backups.list()).find(
    ({ origin, verified, createdAt }) => origin === 'timetable' && verified && Date.parse(createdAt) <= now.getTime(),
  )
  return newest && new Date(newest.createdAt)
}
