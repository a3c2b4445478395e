import type { ScheduleRow } from '../store/automation/monitors.ts'

export type Scheduled = Pick<ScheduleRow, 'id' | 'projectId' | 'cardId' | 'intervalSecs'>
interface Entry extends Scheduled {
  dueAtMs: number
}

/** Due times of monitors, by a monotonic clock. */
export interface Schedule {
  has(id: number): boolean
  ids(): number[]
  add(monitor: Scheduled, inMs: number): void
  forget(id: number): void
  /**
   * Chooses the next due monitor: one whose project has the fewest running monitors, then whose card has the fewest, then the
   * one that has waited longest.
   */
  next(running: ReadonlyMap<number, Scheduled>): Scheduled | undefined
  /**
   * Schedules the next run, a multiple of the interval after the last scheduled time. Missed times are skipped.
   * @returns the milliseconds until the next run
   */
  advance(id: number): number
  /** Postpones a monitor that could not run. */
  postpone(id: number, ms: number): void
  /** The time until a monitor's next run; negative for an overdue one. */
  inMs(id: number): number | undefined
  /** The time until the next monitor that is not due yet. */
  untilNextMs(): number | undefined
}

export function createSchedule(nowMs: () => number = () => performance.now()): Schedule {
  const entries = new Map<number, Entry>()
  return {
    has: id => entries.has(id),
    ids: () => [...entries.keys()],
    add: ({ id, projectId, cardId, intervalSecs }, inMs) => {
      entries.set(id, { id, projectId, cardId, intervalSecs, dueAtMs: nowMs() + inMs })
    },
    forget: id => {
      entries.delete(id)
    },
    next: running =>
      nextOf(
        [...entries.values()].filter(({ id, dueAtMs }) => dueAtMs <= nowMs() && !running.has(id)),
        [...running.values()],
      ),
    advance: id => {
      const entry = entries.get(id)
      if (!entry) return 0
      const intervalMs = entry.intervalSecs * 1000
      entry.dueAtMs += intervalMs * Math.max(1, Math.ceil((nowMs() - entry.dueAtMs) / intervalMs))
      return entry.dueAtMs - nowMs()
    },
    postpone: (id, ms) => {
      const entry = entries.get(id)
      if (entry) entry.dueAtMs = nowMs() + ms
    },
    inMs: id => {
      const entry = entries.get(id)
      return entry && entry.dueAtMs - nowMs()
    },
    untilNextMs: () => {
      const now = nowMs()
      const ahead = [...entries.values()].map(({ dueAtMs }) => dueAtMs - now).filter(ms => ms > 0)
      return ahead.length === 0 ? undefined : ahead.reduce((minMs, ms) => Math.min(minMs, ms))
    },
  }
}

function nextOf(due: readonly Entry[], running: readonly Scheduled[]): Entry | undefined {
  const rankOf = (entry: Entry) => [
    running.filter(({ projectId }) => projectId === entry.projectId).length,
    running.filter(({ cardId }) => cardId === entry.cardId).length,
    entry.dueAtMs,
    entry.id,
  ]
  let first: { entry: Entry; rank: number[] } | undefined
  for (const entry of due) {
    const rank = rankOf(entry)
    if (!first || isBefore(rank, first.rank)) first = { entry, rank }
  }
  return first?.entry
}

function isBefore(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, index) => value !== b[index])
  return at >= 0 && a[at]! < b[at]!
}
