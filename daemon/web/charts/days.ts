import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'

export type HistoryDay = Output<Contract['projects']['history']>[number]
export type UsageOfDay = Output<Contract['projects']['usage']>[number]

/** A day's values, one for each series. */
interface Point {
  day: string
  values: readonly number[]
}
export interface Chart {
  series: readonly string[]
  points: readonly Point[]
}

const dayMs = 86_400_000
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** The last days (UTC), today last. */
export const lastDays = (count: number, now = Date.now()): string[] =>
  Array.from({ length: count }, (_, at) => dayOf(now - (count - 1 - at) * dayMs))

const kinds = ['done', 'active', 'backlog', 'archived'] as const

/** How many cards there were at each day's end. A day on which no server ran is like the one before. */
export function cardsByDay(history: readonly HistoryDay[], days: readonly string[]): Chart {
  const known = new Map(history.map(day => [day.day, day]))
  let last = history.findLast(({ day }) => day < days[0]!)
  const points = days.map(day => {
    last = known.get(day) ?? last
    return { day, values: kinds.map(kind => last?.[kind] ?? 0) }
  })
  return { series: kinds, points }
}

/** How many more cards were done or archived at a day's end than at the end of the day before. */
export function finishedByDay(history: readonly HistoryDay[], days: readonly string[]): Chart {
  const first = dayOf(Date.parse(days[0]!) - dayMs)
  const { points } = cardsByDay(history, [first, ...days])
  const finished = points.map(({ values }) => values[0]! + values[3]!)
  const begins = history[0]?.day
  return {
    series: ['finished'],
    points: days.map((day, at) => ({
      day,
      // What was there when the record began was not finished on that day.
      values: [begins === undefined || day <= begins ? 0 : Math.max(0, finished[at + 1]! - finished[at]!)],
    })),
  }
}

/** What each agent has used on each day. */
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
