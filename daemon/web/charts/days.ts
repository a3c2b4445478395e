import type { CardStatus } from '../../../src/contract/fields.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'

export type HistoryDay = Output<Contract['projects']['history']>[number]
export type UsageOfDay = Output<Contract['projects']['usage']>[number]

/** A day's values, one per series. Undefined if unknown. */
interface Point {
  day: string
  values: readonly number[] | undefined
}
export interface Chart {
  series: readonly string[]
  points: readonly Point[]
  /** The index of each series' color and pattern. By default, the index of the series. */
  looks?: readonly number[]
}

const dayMs = 86_400_000
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** The last days (UTC), today last. */
export const lastDays = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => dayOf(Date.now() - (count - 1 - at) * dayMs))

const kinds = ['done', 'active', 'backlog', 'archived'] as const

/** Returns the records of each day. A day without a running server repeats the previous one. */
function recordedOf(history: readonly HistoryDay[], days: readonly string[]) {
  const known = new Map(history.map(day => [day.day, day]))
  let last = history.findLast(({ day }) => day < days[0]!)
  return days.map(day => ({ day, recorded: (last = known.get(day) ?? last) }))
}

/** The number of cards at the end of each day, by column type. */
export function cardsByDay(history: readonly HistoryDay[], days: readonly string[]) {
  const points = recordedOf(history, days).map(({ day, recorded }) => ({
    day,
    values: kinds.map(kind => recorded?.[kind] ?? 0),
  }))
  return { series: kinds, points }
}

/** The statuses in stacking order, with color and pattern. */
const statusLooks = {
  completed: 0,
  running: 1,
  waiting: 3,
  queued: 4,
  failed: 5,
  interrupted: 6,
  cancelled: 7,
  idle: 2,
} as const satisfies Record<CardStatus, number>
const statuses = Object.keys(statusLooks) as CardStatus[]

/** The number of cards by status at the end of each day. Undefined for days before statuses were recorded. */
export function statusesByDay(history: readonly HistoryDay[], days: readonly string[]): Chart {
  const recorded = recordedOf(history, days).map(each => ({
    day: each.day,
    counts: each.recorded?.byStatus,
  }))
  const series = statuses.filter(status => recorded.some(({ counts }) => (counts?.[status] ?? 0) > 0))
  return {
    series,
    looks: series.map(status => statusLooks[status]),
    points: recorded.map(({ day, counts }) => ({ day, values: counts && series.map(status => counts[status] ?? 0) })),
  }
}

/** The increase in done and archived cards on each day. */
export function finishedByDay(history: readonly HistoryDay[], days: readonly string[]): Chart {
  const first = dayOf(Date.parse(days[0]!) - dayMs)
  const { points } = cardsByDay(history, [first, ...days])
  const finished = points.map(({ values }) => values[0]! + values[3]!)
  const begins = history[0]?.day
  return {
    series: ['finished'],
    points: days.map((day, at) => ({
      day,
      // Cards that existed when the record began were not finished on that day.
      values: [begins === undefined || day <= begins ? 0 : Math.max(0, finished[at + 1]! - finished[at]!)],
    })),
  }
}

/** Returns the usage of each agent per day. */
export function usageByDay(
  usage: readonly UsageOfDay[],
  days: readonly string[],
  of: (usage: UsageOfDay) => number,
): Chart {
  const series = [...new Set(usage.map(({ agent }) => agent))].sort()
  const byDay = Map.groupBy(usage, ({ day }) => day)
  const points = days.map(day => {
    const some = byDay.get(day) ?? []
    return {
      day,
      values: series.map(agent => some.filter(each => each.agent === agent).reduce((sum, each) => sum + of(each), 0)),
    }
  })
  return { series, points }
}
