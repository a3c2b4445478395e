import { dayShape, zones, type Assumed } from './assumptions.ts'
import type { Cost, Measured } from './measured.ts'
import { createRandom } from '../../support/run/random.ts'

/** The minimum number of events that a namespace keeps (src/events/outbox.ts). */
const keptEvents = 100_000
const workingDays = 250
const maxListeners = 50

/** The customers of one fleet, with one element per organization in each array. */
export interface Organizations {
  count: number
  people: Float64Array
  /** People who work on a usual day; 0 in an inactive organization. */
  present: Float64Array
  zone: Uint8Array
  /** 1 if work is always due. */
  awake: Uint8Array
}

/** Draws organizations with a heavy-tailed distribution of sizes. */
export function drawOrganizations(assumed: Assumed, count: number, seed: number): Organizations {
  const random = createRandom(seed)
  const drawn: Organizations = {
    count,
    people: new Float64Array(count),
    present: new Float64Array(count),
    zone: new Uint8Array(count),
    awake: new Uint8Array(count),
  }
  for (let at = 0; at < count; at++) {
    const people = Math.min(assumed.largestPeople, Math.floor((1 - random()) ** (-1 / assumed.sizeExponent)))
    const isActive = random() < assumed.activeShare
    drawn.people[at] = people
    drawn.present[at] = isActive ? people * assumed.presentShare : 0
    drawn.zone[at] = zoneOf(random())
    drawn.awake[at] = Number(isActive && random() < assumed.timetableShare)
  }
  return drawn
}

function zoneOf(part: number): number {
  let sum = 0
  const at = zones.findIndex(({ share }) => (sum += share) > part)
  return at < 0 ? zones.length - 1 : at
}

/** The share of a day's sittings that start in an hour of UTC. */
export const shareOfDay = (zone: number, hour: number): number =>
  dayShape[(hour + zones[zone]!.hoursFromUtc + 24) % 24]!

/** The cost of one present person, in microseconds of processor time per day, except for events to others. */
export function costOfPerson(measured: Measured, assumed: Assumed): Cost & { events: number; pieces: number } {
  const hours = (assumed.sittings * assumed.sittingMinutes) / 60
  const { get, list, create, move } = measured.requests
  const side = (of: keyof Cost) =>
    hours *
      (assumed.readsAnHour * (get[of] * (1 - assumed.listShare) + list[of] * assumed.listShare) +
        (assumed.writesAnHour * (create[of] + move[of])) / 2) +
    assumed.sessionsADay * assumed.piecesASession * measured.piece[of]
  const pieces = assumed.sessionsADay * assumed.piecesASession
  return { board: side('board'), sqld: side('sqld'), events: hours * assumed.writesAnHour, pieces }
}

/** The number of listeners of an event among `present` people at the busiest hour. An agent's messages have a reader. */
export const listenersOf = (assumed: Assumed, present: number): number =>
  Math.min(maxListeners, 1 + present * assumed.listenersShare)

/** The size of an organization on disk in bytes, stored once. */
export function bytesOf(measured: Measured, assumed: Assumed, { people, present }: Organizations, at: number): number {
  const { namespace, bytes } = measured
  const workers = people[at]! * assumed.presentShare
  const eventsADay = workers * ((assumed.sittings * assumed.sittingMinutes) / 60) * assumed.writesAnHour
  const events = Math.min(eventsADay * workingDays * assumed.keptYears, Math.max(keptEvents, eventsADay * 7))
  const pieces = workers * assumed.sessionsADay * assumed.piecesASession * workingDays * assumed.keptYears
  const data = people[at]! * assumed.cardsAPerson * bytes.card + events * bytes.event + pieces * bytes.piece
  return namespace.diskKilobytes * 1024 + data * (present[at]! > 0 ? 1 : assumed.idleDataShare)
}
