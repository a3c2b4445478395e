import { describe, expect, test } from 'vitest'
import { nextTimes } from '../../src/recurrence/recurrence.ts'
import { dueTimes, isoOf, year, zones, type Rule } from './year.ts'

/** Expressions, each with an equivalent predicate. */
const expressions: Array<[string, (wall: Date) => boolean]> = [
  ['30 2 * * *', wall => at(wall, [2], [30])],
  ['0 2 * * *', wall => at(wall, [2], [0])],
  ['15,45 1-3 * * *', wall => at(wall, [1, 2, 3], [15, 45])],
  ['*/20 0-3 * * 0,6', wall => at(wall, [0, 1, 2, 3], [0, 20, 40]) && wall.getUTCDay() % 6 === 0],
  ['59 23 28-31 * *', wall => at(wall, [23], [59]) && wall.getUTCDate() >= 28],
  ['0 9 * * 1-5', wall => at(wall, [9], [0]) && wall.getUTCDay() >= 1 && wall.getUTCDay() <= 5],
  ['5 0 13 * 5', wall => at(wall, [0], [5]) && (wall.getUTCDate() === 13 || wall.getUTCDay() === 5)],
  ['0 */6 1 */3 *', wall => at(wall, [0, 6, 12, 18], [0]) && wall.getUTCDate() === 1 && wall.getUTCMonth() % 3 === 0],
]
const at = (wall: Date, hours: number[], minutes: number[]) =>
  hours.includes(wall.getUTCHours()) && minutes.includes(wall.getUTCMinutes())

describe.each(zones)('a year in %s', zone => {
  test.each(expressions)("%s is due by its zone's clock, once in a skipped or repeated hour", (cron, matches) => {
    const rule: Rule = { name: cron, zone, cron, matches, overlap: 'add', catchUp: 'none' }
    const expected = dueTimes(rule).map(isoOf)
    const timing = { cron, everySecs: null, timeZone: zone, anchorAt: isoOf(year.startMs) }
    const found = nextTimes(timing, isoOf(year.startMs), expected.length + 1)
    expect(found.slice(0, -1)).toEqual(expected)
    expect(found.at(-1)! >= isoOf(year.endMs)).toBe(true)
  })
})

test('an interval keeps its phase across clock changes', () => {
  const timing = { cron: null, everySecs: 86_400, timeZone: 'Europe/Berlin', anchorAt: '2026-03-27T09:00:00.000Z' }
  expect(nextTimes(timing, '2026-03-28T10:00:00.000Z', 2)).toEqual([
    '2026-03-29T09:00:00.000Z',
    '2026-03-30T09:00:00.000Z',
  ])
})
