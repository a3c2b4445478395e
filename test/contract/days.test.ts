import * as v from 'valibot'
import { expect, test } from 'vitest'
import { dayAgo, dayEnd, dayStart, pastTime } from '../../cli/parsing/arguments.ts'
import { Day, GivenTime } from '../../src/contract/fields.ts'
import { toStorableTime } from '../../src/domain/cards/fitCardTexts.ts'
import { Time } from '../../src/transfers/records.ts'

const real = ['2026-02-28', '2028-02-29', '2000-02-29', '2026-04-30', '2026-12-31']
const unreal = ['2026-02-29', '2026-02-30', '1900-02-29', '2026-04-31', '2026-13-01', '2026-00-10', '2026-01-00']

test('days that exist are accepted everywhere', () => {
  for (const day of real) {
    expect(v.parse(Day, day)).toBe(day)
    expect(v.parse(GivenTime, `${day}T12:00:00Z`)).toBe(`${day}T12:00:00.000Z`)
    expect(v.parse(Time, `${day}T12:00:00.000Z`)).toBe(`${day}T12:00:00.000Z`)
    expect(toStorableTime(`${day}T12:00:00Z`)).toBe(`${day}T12:00:00.000Z`)
    for (const parse of [dayEnd, dayStart, pastTime, dayAgo]) expect(parse(day)).toMatch(/^\d{4}-\d\d-\d\d/)
  }
})

test('days that do not exist are rejected everywhere', () => {
  for (const day of unreal) {
    expect(v.safeParse(Day, day).success, day).toBe(false)
    expect(v.safeParse(GivenTime, `${day}T12:00:00Z`).success, day).toBe(false)
    expect(v.safeParse(GivenTime, `${day}T12:00:00+02:00`).success, day).toBe(false)
    expect(v.safeParse(Time, `${day}T12:00:00.000Z`).success, day).toBe(false)
    expect(toStorableTime(`${day}T12:00:00Z`), day).toBeUndefined()
    for (const parse of [dayEnd, dayStart, pastTime, dayAgo]) expect(() => parse(day), day).toThrow(/must be/)
    for (const parse of [dayEnd, dayStart, pastTime]) expect(() => parse(`${day}T12:00`), day).toThrow(/must be/)
  }
})

test('other formats of a time in imported files are read', () => {
  expect(toStorableTime('Sat, 28 Feb 2026 12:00:00 GMT')).toBe('2026-02-28T12:00:00.000Z')
  expect(toStorableTime(undefined)).toBeUndefined()
})
