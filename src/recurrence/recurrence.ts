import { Cron } from 'croner'
import { invalid } from '../contract/errors.ts'
import { momentOf, wallTimeOf } from './wallClock.ts'

/** The times of a recurrence: by a cron expression in a zone, or every N seconds from `anchorAt` on. */
export interface Timing {
  cron: string | null
  everySecs: number | null
  timeZone: string
  /** A time from which the intervals are counted. */
  anchorAt: string
}

/**
 * Croner parses the expression and finds its times in a calendar without zones. The moments in a zone are computed here, because
 * Croner omits times that daylight saving skips if an expression names several minutes of that hour.
 */
const expressions = new Map<string, Cron>()
const maxExpressions = 1000

/** @throws Problem VALIDATION_FAILED for an invalid expression, or one that never occurs */
export function requireTiming(timing: Timing, now: string): void {
  if (timing.cron === null) return
  let next: Date | null
  try {
    next = expressionOf(timing.cron).nextRun(new Date(now))
  } catch (error) {
    throw invalid('cron', `is not a cron expression: ${reasonOf(error)}`)
  }
  if (next === null) throw invalid('cron', 'must match a future time')
}

/** The first time after a moment. */
export function nextAfter({ cron, everySecs, timeZone, anchorAt }: Timing, at: string): string | null {
  const atMs = Date.parse(at)
  if (cron === null) {
    const [anchorMs, everyMs] = [Date.parse(anchorAt), everySecs! * 1000]
    return isoOf(anchorMs + (Math.floor((atMs - anchorMs) / everyMs) + 1) * everyMs)
  }
  const expression = expressionOf(cron)
  // Times that the zone's clock shows twice have already run, so this continues to the next new time.
  for (let wall = expression.nextRun(new Date(wallTimeOf(atMs, timeZone))); wall; wall = expression.nextRun(wall)) {
    const nextMs = momentOf(wall.getTime(), timeZone)
    if (nextMs > atMs) return isoOf(nextMs)
  }
  return null
}

/** The next times after a moment. */
export function nextTimes(timing: Timing, at: string, count: number): string[] {
  const times: string[] = []
  for (let next = nextAfter(timing, at); next !== null && times.length < count; next = nextAfter(timing, next))
    times.push(next)
  return times
}

const isoOf = (atMs: number) => new Date(atMs).toISOString()

function expressionOf(cron: string): Cron {
  const known = expressions.get(cron)
  if (known) return known
  if (expressions.size >= maxExpressions) expressions.clear()
  const expression = new Cron(cron, { paused: true, timezone: 'UTC', mode: '5-part' })
  expressions.set(cron, expression)
  return expression
}

/** Croner's messages begin with the name of its part: "CronPattern: Invalid value for minute: 60". */
const reasonOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message.replace(/^\w+:\s*/, '') : String(error)
  return message.charAt(0).toLowerCase() + message.slice(1)
}
