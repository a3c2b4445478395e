import { expect, test } from 'vitest'
import { createSchedule, type Scheduled } from '../../src/monitors/schedule.ts'

let nowMs = 1000
const fresh = () => createSchedule(() => nowMs)
const monitor = (id: number, cardId = id, projectId = 1, intervalSecs = 10): Scheduled => ({
  id,
  projectId,
  cardId,
  intervalSecs,
})
const running = (...those: Scheduled[]) => new Map(those.map(each => [each.id, each]))
const idle = running()

test('a monitor is due after its interval, and then on the grid of its interval', () => {
  const schedule = fresh()
  schedule.add(monitor(1), 500)
  expect([schedule.next(idle), schedule.untilNextMs(), schedule.inMs(1)]).toEqual([undefined, 500, 500])
  nowMs += 500
  expect([schedule.next(idle)?.id, schedule.untilNextMs()]).toEqual([1, undefined])
  nowMs += 30
  expect(schedule.advance(1)).toBe(9970)
  expect([schedule.next(idle), schedule.untilNextMs()]).toEqual([undefined, 9970])
})

test('missed runs are not made up for, and the grid stays', () => {
  const schedule = fresh()
  schedule.add(monitor(1), 0)
  nowMs += 34_000
  expect(schedule.advance(1)).toBe(6000)
  nowMs += 6000
  expect(schedule.next(idle)?.id).toBe(1)
  // The run ends exactly when the next one is due.
  nowMs += 10_000
  expect(schedule.advance(1)).toBe(0)
  expect(schedule.next(idle)?.id).toBe(1)
})

test('a running one is not due', () => {
  const schedule = fresh()
  schedule.add(monitor(1), 0)
  expect(schedule.next(running(monitor(1)))).toBeUndefined()
})

test('of several the one that has waited longest gets its turn', () => {
  const schedule = fresh()
  for (const [id, inMs] of [
    [1, 30],
    [2, 10],
    [3, 20],
  ] as const)
    schedule.add(monitor(id), inMs)
  nowMs += 100
  const order = [0, 1, 2].map(() => {
    const { id } = schedule.next(idle)!
    schedule.advance(id)
    return id
  })
  expect(order).toEqual([2, 3, 1])
})

test('a project with many monitors does not delay another one, and neither does a card', () => {
  const schedule = fresh()
  const greedy = Array.from({ length: 20 }, (_, at) => monitor(at + 1, 100 + at, 1))
  for (const each of greedy) schedule.add(each, 0)
  nowMs += 1000
  schedule.add(monitor(50, 200, 2), 0)
  expect(schedule.next(running(...greedy.slice(0, 7)))?.id).toBe(50)
  expect(schedule.next(running(...greedy.slice(0, 1), monitor(51, 201, 2)))?.id).toBe(2)
  const cards = fresh()
  for (const id of [1, 2, 3]) cards.add(monitor(id, 100), 0)
  nowMs += 1
  cards.add(monitor(9, 101), 0)
  expect(cards.next(running(monitor(1, 100)))?.id).toBe(9)
})

test('a postponed or removed one waits', () => {
  const schedule = fresh()
  schedule.add(monitor(1), 0)
  schedule.postpone(1, 1000)
  expect([schedule.next(idle), schedule.inMs(1)]).toEqual([undefined, 1000])
  schedule.forget(1)
  nowMs += 5000
  expect([schedule.next(idle), schedule.has(1), schedule.ids(), schedule.inMs(1), schedule.untilNextMs()]).toEqual([
    undefined,
    false,
    [],
    undefined,
    undefined,
  ])
})
