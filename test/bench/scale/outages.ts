import type { Assumed } from './assumptions.ts'
import { createRandom, untilNext } from '../../support/run/random.ts'

const years = 2000
const minutesAYear = 365 * 24 * 60

export interface Outage {
  replicas: number
  failuresAYear: number
  /** Minutes per year that an organization waits, on average, and in the worst of a hundred years. */
  minutes: number
  badYearMinutes: number
  /** Failures of a fleet per year, and how many organizations and active people each affects. */
  failures: number
  organizations: number
  people: number
}

/** The effects of failures of libSQL servers, simulated for many years of one server and its standbys. */
export function outagesOf(
  assumed: Assumed,
  fleet: { servers: number; organizations: number; sitting: number },
  seed: number,
): Outage[] {
  const found: Outage[] = []
  for (const replicas of [0, 1, 2])
    for (const failuresAYear of [0.5, 1, 2].map(times => times * assumed.failuresAYear)) {
      const minutes = Array.from({ length: years }, (_, year) =>
        minutesOf(assumed, failuresAYear, replicas, seed + year),
      ).sort((a, b) => a - b)
      found.push({
        replicas,
        failuresAYear,
        minutes: minutes.reduce((sum, each) => sum + each, 0) / years,
        badYearMinutes: minutes[Math.floor(years * 0.99)]!,
        failures: failuresAYear * fleet.servers,
        organizations: fleet.organizations / fleet.servers,
        people: fleet.sitting / fleet.servers,
      })
    }
  return found
}

/** A server and its standbys fail independently; a standby takes over while the others are repaired. */
function minutesOf(assumed: Assumed, rate: number, replicas: number, seed: number): number {
  const random = createRandom(seed)
  const backAt = Array.from({ length: 1 + replicas }, () => 0)
  let [leader, minutes, heldUntil] = [0, 0, 0]
  for (let now = 0; ;) {
    now += untilNext(random, (rate * backAt.length) / minutesAYear)
    if (now >= minutesAYear) return minutes
    const failed = Math.floor(random() * backAt.length)
    if (backAt[failed]! > now) continue
    backAt[failed] = now + (random() < assumed.lostShare ? assumed.restoreMinutes : assumed.restartMinutes)
    if (failed !== leader || heldUntil > now) continue
    const standby = backAt.findIndex(each => each <= now)
    const until = standby < 0 ? Math.min(...backAt) : now + assumed.takeoverSecs / 60
    leader = standby < 0 ? backAt.indexOf(until) : standby
    minutes += until - now
    heldUntil = until
  }
}
