import { Cron } from 'croner'
import { invalid } from '../contract/errors.ts'
import { momentOf, wallTimeOf } from './wallClock.ts'

/** When something happens again: by a cron expression in a zone, or every so many seconds from `anchorAt` on. */
export interface Timing {
  cron: string | null
  everySecs: number | null
  timeZone: string
  /** A time of the interval; what is due later keeps its phase. */
  anchorAt: string
}

/**
 * Croner reads the expression and finds the times of a calendar without zones. When a zone's clock shows them is computed
 * here: by itself it leaves out what is skipped by daylight saving where an expression names several minutes of that hour.
 */
const expressions = new Map<string, Cron>()
const maxExpressions = 1000

/** @throws Problem VALIDATION_FAILED for what is no expression, or never comes */
export function requireTiming(timing: Timing, now: string): void {
  if (timing.cron === null) return
  let next: Date | null
  try {
    next = expressionOf(timing.cron).nextRun(new Date(now))
  } catch (error) {
    throw invalid('cron', `is not a cron expression: ${reasonOf(error)}`)
  }
  if (next === null) throw invalid('cron', 'must be a time that comes: it never does')
}

/** The first time after a moment. */
export function nextAfter({ cron, everySecs, timeZone, anchorAt }: Timing, at: string): string | null {
  const atMs = Date.parse(at)
  if (cron === null) {
    const [anchorMs, everyMs] = [Date.parse(anchorAt), everySecs! * 1000]
    return isoOf(anchorMs + (Math.floor((atMs - anchorMs) / everyMs) + 1) * everyMs)
  }
  const expression = expressionOf(cron)
  // What its clock shows a second time has run already: it goes on from there to what is new.
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
