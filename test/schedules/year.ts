import { expect } from 'vitest'
import type { TestBoard } from '../support/servers/testBoard.ts'

type Schedule = Awaited<ReturnType<TestBoard['client']['schedules']['list']>>[number]

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]
export const year = { startMs: Date.parse('2026-01-01T00:00:00Z'), endMs: Date.parse('2027-01-01T00:00:00Z') }

/** The clock changes in 2026, as in calendars: the time from which a zone has an offset from UTC. */
const offsets: Record<string, ReadonlyArray<readonly [from: string, hours: number]>> = {
  'Europe/Berlin': [
    ['2025-10-26T01:00Z', 1],
    ['2026-03-29T01:00Z', 2],
    ['2026-10-25T01:00Z', 1],
  ],
  'America/New_York': [
    ['2025-11-02T06:00Z', -5],
    ['2026-03-08T07:00Z', -4],
    ['2026-11-01T06:00Z', -5],
  ],
  'Australia/Sydney': [
    ['2025-10-04T16:00Z', 11],
    ['2026-04-04T16:00Z', 10],
    ['2026-10-03T16:00Z', 11],
  ],
  'Australia/Lord_Howe': [
    ['2025-10-04T15:30Z', 11],
    ['2026-04-04T15:00Z', 10.5],
    ['2026-10-03T15:30Z', 11],
  ],
}
export const zones = Object.keys(offsets)

/** The local time of a zone, as if it were UTC. */
export function shownAt(atMs: number, zone: string): number {
  const [, hours] = offsets[zone]!.findLast(([from]) => Date.parse(from) <= atMs)!
  return atMs + hours * hourMs
}

/** A schedule, with an equivalent predicate of its expression. */
export interface Rule {
  name: string
  zone: string
  cron?: string
  matches?: (wall: Date) => boolean
  everySecs?: number
  overlap: 'skip' | 'queue' | 'add'
  catchUp: 'none' | 'one'
}

/**
 * The due times of a rule, minute by minute and without a library: when a clock first shows a matching minute, or has just
 * skipped one.
 */
export function dueTimes({ zone, matches, everySecs }: Rule, { startMs, endMs } = year): number[] {
  const times: number[] = []
  if (everySecs !== undefined) {
    for (let atMs = startMs + everySecs * 1000; atMs < endMs; atMs += everySecs * 1000) times.push(atMs)
    return times
  }
  for (let atMs = startMs + minuteMs, shown = shownAt(startMs, zone); atMs < endMs; atMs += minuteMs) {
    const now = shownAt(atMs, zone)
    let isDue = false
    for (; shown < now; shown += minuteMs) isDue ||= matches!(new Date(shown + minuteMs))
    if (isDue) times.push(atMs)
  }
  return times
}

/** The history of a schedule by the rules: the model with which the board is compared. */
export interface Model {
  rule: Rule
  dues: number[]
  /** How many of the times have passed. */
  passed: number
  /** The titles of its cards. */
  made: string[]
  lastRunMs: number | undefined
  isOpen: boolean
  waitingMs: number | undefined
  skipped: number
}
export const modelOf = (rule: Rule): Model => ({
  rule,
  dues: dueTimes(rule),
  passed: 0,
  made: [],
  lastRunMs: undefined,
  isOpen: false,
  waitingMs: undefined,
  skipped: 0,
})

function make(model: Model, nowMs: number, dayOfMs = nowMs): void {
  model.made.push(`${model.rule.name} ${new Date(shownAt(dayOfMs, model.rule.zone)).toISOString().slice(0, 10)}`)
  model.lastRunMs = nowMs
  model.isOpen = true
}

/** Applies a run of the board at this moment. */
export function look(model: Model, nowMs: number): void {
  const { rule, dues } = model
  const from = model.passed
  while (model.passed < dues.length && dues[model.passed]! <= nowMs) model.passed++
  const pending = dues.slice(from, model.passed)
  if (pending.length === 0) return
  const onTime = pending.find(due => due >= nowMs - minuteMs)
  const due = onTime ?? (rule.catchUp === 'one' ? nowMs : undefined)
  if (due === undefined) return
  if (rule.overlap === 'add' || !model.isOpen) return make(model, nowMs, due)
  if (rule.overlap === 'queue' && model.waitingMs === undefined) model.waitingMs = due
  else model.skipped++
}

/** A user completes the schedule's last card. */
export function complete(model: Model, nowMs: number): void {
  model.isOpen = false
  if (model.waitingMs === undefined) return
  model.waitingMs = undefined
  make(model, nowMs)
}

/** Compares the board's state of a schedule with its model. */
export function compare(model: Model, shown: Schedule): void {
  const next = model.dues[model.passed]
  expect({
    name: shown.name,
    ...(next !== undefined && { nextRunAt: shown.nextRunAt }),
    lastRunAt: shown.lastRunAt,
    waitingSince: shown.waitingSince,
    skipped: shown.skipped,
    disabledReason: shown.disabledReason,
  }).toEqual({
    name: model.rule.name,
    ...(next !== undefined && { nextRunAt: isoOf(next) }),
    lastRunAt: model.lastRunMs === undefined ? null : isoOf(model.lastRunMs),
    waitingSince: model.waitingMs === undefined ? null : isoOf(model.waitingMs),
    skipped: model.skipped,
    disabledReason: null,
  })
}

export const isoOf = (atMs: number): string => new Date(atMs).toISOString()

/** Times without a running server: across each clock change, across some hours, and across weeks. Each ends between two minutes. */
export const downtimes: ReadonlyArray<readonly [string, string]> = [
  ['2026-01-12T08:59:30Z', '2026-01-12T09:00:20Z'],
  ['2026-02-03T00:00:00Z', '2026-02-19T11:17:05Z'],
  ['2026-03-08T06:40:00Z', '2026-03-08T07:30:10Z'],
  ['2026-03-29T00:50:00Z', '2026-03-29T00:59:40Z'],
  ['2026-04-04T14:31:00Z', '2026-04-04T15:45:12Z'],
  ['2026-06-01T10:00:00Z', '2026-06-01T10:03:00Z'],
  ['2026-10-03T15:29:59Z', '2026-10-03T15:30:30Z'],
  ['2026-10-25T00:20:00Z', '2026-10-25T01:20:30Z'],
  ['2026-12-24T12:00:00Z', '2026-12-31T20:00:00Z'],
]
export const days = (count: number): number => count * dayMs
