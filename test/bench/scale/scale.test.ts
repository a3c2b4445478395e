import { join } from 'node:path'
import { expect, test } from 'vitest'
import { assumed, dayShape, zones } from './assumptions.ts'
import { billOf } from './bill.ts'
import { loadOf } from './load.ts'
import { readMeasured } from './measured.ts'
import { moveNamespace, type Move } from './moving.ts'
import { readOptions } from './options.ts'
import { shareOfDay, type Organizations } from './organizations.ts'
import { outagesOf } from './outages.ts'
import { place } from './placement.ts'
import { createRandom, untilNext } from '../../support/run/random.ts'
import { reportText } from './report.ts'
import { simulate } from './simulate.ts'

const measured = readMeasured(join(import.meta.dirname, 'measured.json'))

test('a seed always produces the same fleet, and another seed a different one', () => {
  const report = (seed: number) => reportText(measured, [simulate(measured, assumed(), 500, seed)])
  const first = report(1)
  expect(report(1)).toBe(first)
  expect(report(2)).not.toBe(first)
})

test('a move loses no write behind a fence or a lease, loses some without, and only the lease pauses all writers', () => {
  const move: Omit<Move, 'guard'> = {
    megabytes: 50,
    copyMegabytesPerSec: 5,
    writesASec: 40,
    kilobytesAWrite: 2,
    daemons: 4,
    leaseSecs: 10,
    coldSecs: 0.02,
  }
  const [fence, lease, none] = (['fence', 'lease', 'none'] as const).map(guard =>
    Array.from({ length: 20 }, (_, seed) => moveNamespace({ ...move, guard }, seed)),
  ) as [ReturnType<typeof moveNamespace>[], ReturnType<typeof moveNamespace>[], ReturnType<typeof moveNamespace>[]]
  for (const each of [...fence, ...lease]) expect(each.lost).toBe(0)
  for (const each of none) expect(each.lost).toBeGreaterThan(0)
  for (const { pauseSecs, delayed } of fence) {
    expect(pauseSecs).toBeLessThan(0.3)
    expect(delayed).toBeGreaterThan(0)
  }
  for (const { pauseSecs } of lease) expect(pauseSecs).toBeGreaterThanOrEqual(move.leaseSecs)
})

test('a directory keeps every server within its limits with fewer servers and moves than hashing', () => {
  const random = createRandom(7)
  const weights = Float64Array.from({ length: 5000 }, () => Math.min(0.8, 0.0004 / (1 - random())))
  const [directory, rendezvous] = [place('directory', weights, weights, 1), place('rendezvous', weights, weights, 1)]
  const needed = weights.reduce((sum, each) => sum + each, 0)
  expect(directory.servers).toBeLessThan(needed * 1.5 + 1)
  expect((directory.fullest * needed) / directory.servers).toBeLessThan(1.1)
  expect(rendezvous.servers).toBeGreaterThanOrEqual(directory.servers)
  expect(directory.moved).toBeLessThan(rendezvous.moved / 2)
})

test('without a standby an organization waits for the repair of its server, with one only for the takeovers', () => {
  const values = assumed()
  const found = outagesOf(values, { servers: 3, organizations: 30, sitting: 60 }, 1)
  const of = (replicas: number) =>
    found.find(each => each.replicas === replicas && each.failuresAYear === values.failuresAYear)!
  const mended = values.lostShare * values.restoreMinutes + (1 - values.lostShare) * values.restartMinutes
  expect(of(0).minutes / (values.failuresAYear * mended)).toBeCloseTo(1, 1)
  expect(of(1).minutes).toBeLessThan(of(0).minutes / 20)
  expect(of(0)).toMatchObject({ organizations: 10, people: 20, failures: 6 })
})

test('the share of time that a namespace is open, and its cold starts, match individually simulated sittings', () => {
  const values = assumed()
  const zone = zones.findIndex(({ hoursFromUtc }) => hoursFromUtc === 0)
  const present = 3
  const one: Organizations = {
    count: 1,
    people: Float64Array.of(5),
    present: Float64Array.of(present),
    zone: Uint8Array.of(zone),
    awake: Uint8Array.of(0),
  }
  const load = loadOf(measured, values, one)
  const drawn = sittingsOf(present * values.sittings, zone, (values.sittingMinutes + values.idleMinutes) / 60)
  expect(load.openOnAverage / drawn.openShare).toBeCloseTo(1, 1)
  expect(load.coldStartsADay / drawn.coldStartsADay).toBeCloseTo(1, 1)
})

/** Draws the sittings of many days, with the mean rate of each hour. */
function sittingsOf(aDay: number, zone: number, openHours: number): { openShare: number; coldStartsADay: number } {
  const random = createRandom(3)
  const days = 20_000
  const highest = Math.max(...dayShape) * aDay
  let [openUntil, open, cold] = [0, 0, 0]
  for (let at = untilNext(random, highest); at < days * 24; at += untilNext(random, highest)) {
    if (random() > (shareOfDay(zone, Math.floor(at) % 24) * aDay) / highest) continue
    if (at >= openUntil) cold++
    open += at + openHours - Math.max(at, openUntil)
    openUntil = at + openHours
  }
  return { openShare: open / days / 24, coldStartsADay: cold / days }
}

test('a bill is the sum of its parts, grows with its prices, and has at least one machine per standby', () => {
  const load = simulate(measured, assumed(), 2000, 1).load
  const bill = billOf(measured, assumed(), load)
  expect(bill.month).toBeCloseTo(bill.serversMonth + bill.disksMonth + bill.backupsMonth, 6)
  const dearer = billOf(measured, assumed({ diskMonth: assumed().diskMonth * 2 }), load)
  expect(dearer.month - bill.month).toBeCloseTo(bill.disksMonth, 6)
  const smallest = simulate(measured, assumed({ replicas: 2 }), 1, 1)
  expect(smallest.bill).toMatchObject({ servers: 3, scarce: 'standbys' })
})

test('an unknown assumption, an invalid number and too many organizations are rejected', () => {
  for (const argv of [
    ['--set', 'weather=1'],
    ['--set', 'load='],
    ['--organizations', '0'],
    ['--seed', 'x'],
  ])
    expect(() => readOptions(argv), argv.join(' ')).toThrow(TypeError)
  expect(readOptions(['--set', 'load=0.4', '--organizations', '5,6']).set).toEqual({ load: 0.4 })
})
