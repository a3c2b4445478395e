import { zones, type Assumed } from './assumptions.ts'
import type { Measured } from './measured.ts'
import { bytesOf, costOfPerson, listenersOf, shareOfDay, type Organizations } from './organizations.ts'

const hours = 24

/** The load of a fleet at its busiest hour, and its storage. */
export interface Load {
  organizations: number
  people: number
  present: number
  busiestHour: number
  /** Processors that are busy in the busiest hour. */
  boardProcessors: number
  sqldProcessors: number
  requestsASec: number
  deliveriesASec: number
  /** People with an open page, and agents, at the busiest hour. */
  sitting: number
  agents: number
  /** Open namespaces at the busiest hour, the daily mean, and how often a first request finds one closed. */
  openAtMost: number
  openOnAverage: number
  coldStartsADay: number
  coldShare: number
  diskGigabytes: number
  largestGigabytes: number
}

/** Adds up the organizations, hour by hour. */
export function loadOf(measured: Measured, assumed: Assumed, organizations: Organizations): Load {
  const { count, people, present, zone } = organizations
  const person = costOfPerson(measured, assumed)
  const [inZone, heard] = [new Float64Array(zones.length), new Float64Array(zones.length)]
  let [disk, largest, everybody] = [0, 0, 0]
  for (let at = 0; at < count; at++) {
    everybody += people[at]!
    inZone[zone[at]!]! += present[at]!
    if (present[at]! > 0)
      heard[zone[at]!]! += present[at]! * (person.events * listenersOf(assumed, present[at]!) + person.pieces)
    const bytes = bytesOf(measured, assumed, organizations, at)
    disk += bytes
    largest = Math.max(largest, bytes)
  }
  const inHour = (of: Float64Array, hour: number) =>
    of.reduce((sum, each, at) => sum + each * shareOfDay(at, hour), 0) / 3600
  const byHour = Array.from({ length: hours }, (_, hour) => inHour(inZone, hour))
  const busiestHour = byHour.indexOf(Math.max(...byHour))
  const personsASec = byHour[busiestHour]!
  const deliveriesASec = inHour(heard, busiestHour)
  const sittingsASec = personsASec * assumed.sittings
  const open = opened(assumed, organizations, busiestHour)
  return {
    organizations: count,
    people: everybody,
    present: inZone.reduce((sum, each) => sum + each, 0),
    busiestHour,
    boardProcessors: (personsASec * person.board + deliveriesASec * measured.delivery) / 1e6,
    sqldProcessors:
      (personsASec * person.sqld) / 1e6 + (open.coldStartsADay / 86_400 / 1e6) * measured.namespace.coldMicros,
    requestsASec:
      ((personsASec * assumed.sittings * assumed.sittingMinutes) / 60) * (assumed.readsAnHour + assumed.writesAnHour),
    deliveriesASec,
    sitting: sittingsASec * assumed.sittingMinutes * 60,
    agents: personsASec * assumed.sessionsADay * assumed.sessionMinutes * 60,
    ...open,
    diskGigabytes: disk / 1e9,
    largestGigabytes: largest / 1e9,
  }
}

/**
 * A namespace is open from the first request of a sitting until a wait after the last one has passed. Sittings start at random
 * at the hour's rate, so it is closed with the probability that none started in that time: exp(-rate × (sitting + wait)).
 */
function opened(
  assumed: Assumed,
  { count, present, zone, awake }: Organizations,
  busiestHour: number,
): Pick<Load, 'openAtMost' | 'openOnAverage' | 'coldStartsADay' | 'coldShare'> {
  const openHours = (assumed.sittingMinutes + assumed.idleMinutes) / 60
  const sum = { openAtMost: 0, open: 0, coldStartsADay: 0, sittings: 0 }
  for (let at = 0; at < count; at++) {
    if (present[at] === 0) continue
    for (let hour = 0; hour < hours; hour++) {
      const rate = present[at]! * assumed.sittings * shareOfDay(zone[at]!, hour)
      const closed = awake[at] ? 0 : Math.exp(-rate * openHours)
      sum.open += 1 - closed
      sum.coldStartsADay += rate * closed
      sum.sittings += rate
      if (hour === busiestHour) sum.openAtMost += 1 - closed
    }
  }
  return {
    openAtMost: sum.openAtMost,
    openOnAverage: sum.open / hours,
    coldStartsADay: sum.coldStartsADay,
    coldShare: sum.sittings === 0 ? 0 : sum.coldStartsADay / sum.sittings,
  }
}
