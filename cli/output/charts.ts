import { statusColor } from './table.ts'
import { paint, type Terminal } from './terminal.ts'
import { truncate, escapeControls, widthOf } from './text.ts'

export interface Bar {
  name: string
  count: number
  /** Colors the bar. */
  status?: string
}
/** The number of cards per column type on a day, and per status if recorded. */
export interface Day {
  day: string
  backlog: number
  active: number
  done: number
  archived: number
  byStatus: Readonly<Partial<Record<string, number>>>
}

const maxNameWidth = 24
const chartHeight = 10
/** How many days the axis names. */
const ticks = 6
/** The cells next to the curves, for the numbers and the axis. */
const aroundChart = 12

/** Bars side by side with their names and counts, the longest as wide as the terminal. */
export function drawBars(bars: readonly Bar[], { width, color }: Terminal): string {
  const names = bars.map(({ name }) => truncate(escapeControls(name), maxNameWidth))
  const nameWidth = Math.max(...names.map(widthOf), 0)
  const maxCount = Math.max(...bars.map(({ count }) => count), 1)
  const room = Math.max(10, width - nameWidth - String(maxCount).length - 4)
  return bars
    .map(({ count, status }, at) => {
      const eighths = Math.round((count / maxCount) * room * 8)
      const bar = '█'.repeat(Math.floor(eighths / 8)) + (eighths % 8 > 0 ? '▏▎▍▌▋▊▉'[(eighths % 8) - 1]! : '')
      return `${names[at]!}${' '.repeat(nameWidth - widthOf(names[at]!))}  ${paint(bar, status === undefined ? 'cyan' : statusColor(status), color)} ${count}`
    })
    .join('\n')
}

/** Draws the curves of all cards and of done cards by day. The work is complete where they meet. */
export async function drawBurnUp(history: readonly Day[], { width, color }: Terminal): Promise<string> {
  const first = history[0]
  if (!first || history.length < 2) return paint('The burn-up chart begins on the second day.', 'dim', color)
  const { plot } = await import('simple-ascii-chart')
  const start = Date.parse(first.day)
  const curve = (count: (day: Day) => number) =>
    history.map((day): [number, number] => [(Date.parse(day.day) - start) / 86_400_000, count(day)])
  const lastAt = (Date.parse(history.at(-1)!.day) - start) / 86_400_000
  const chart = plot(
    [curve(day => day.backlog + day.active + day.done + day.archived), curve(day => day.done + day.archived)],
    {
      customXAxisTicks: [...new Set(Array.from({ length: ticks }, (_, at) => Math.round((at * lastAt) / (ticks - 1))))],
      width: Math.max(20, Math.min(width - aroundChart, 100)),
      height: chartHeight,
      ...(color && { color: ['ansiCyan', 'ansiGreen'] as const }),
      formatter: (value, { axis }) =>
        axis === 'x' ? new Date(start + value * 86_400_000).toISOString().slice(5, 10) : Math.round(value),
    },
  )
  return `${paint('all cards', 'cyan', color)} and ${paint('done', 'green', color)}, ${first.day} to ${history.at(-1)!.day}\n${chart.replace(/^\n+|\s+$/g, '')}`
}

const levels = '▁▂▃▄▅▆▇█'

/**
 * A line for each status that cards have had: one bar per day, as high as the count, for the latest days that fit, and
 * the last count.
 */
export function drawStatusDays(history: readonly Day[], { width, color }: Terminal): string {
  if (history.length < 2) return paint('The chart of statuses begins on the second day.', 'dim', color)
  const counted = history.flatMap(({ byStatus }) => Object.entries(byStatus))
  const names = [...new Set(counted.map(([name]) => name))]
  const max = Math.max(...counted.map(([, count]) => count ?? 0), 1)
  const nameWidth = Math.max(...names.map(widthOf), 0)
  const days = history.slice(-Math.max(10, width - nameWidth - String(max).length - 4))
  const cell = (count: number) => (count === 0 ? ' ' : levels[Math.ceil((count / max) * levels.length) - 1]!)
  const lines = names.map(name => {
    const cells = days.map(({ byStatus }) => cell(byStatus[name] ?? 0)).join('')
    const last = history.at(-1)!.byStatus[name] ?? 0
    return `${name}${' '.repeat(nameWidth - widthOf(name))}  ${paint(cells, statusColor(name) ?? 'cyan', color)}  ${last}`
  })
  return [`cards by status, ${days[0]!.day} to ${days.at(-1)!.day}`, ...lines].join('\n')
}
