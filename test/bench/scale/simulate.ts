import { assumptionNames, assumptions, dayShape, type Assumed } from './assumptions.ts'
import { billOf, type Bill } from './bill.ts'
import { loadOf, type Load } from './load.ts'
import type { Measured } from './measured.ts'
import { moveNamespace, type Guard, type Moved } from './moving.ts'
import { bytesOf, costOfPerson, drawOrganizations, type Organizations } from './organizations.ts'
import { outagesOf, type Outage } from './outages.ts'
import { place, type Method, type Placed } from './placement.ts'

const guards: readonly Guard[] = ['fence', 'lease', 'none']
const methods: readonly Method[] = ['directory', 'rendezvous']
/** How long a daemon trusts an entry of the directory, and how many of them send requests to one namespace. */
const [leaseSecs, daemons] = [30, 4]
/** Larger fleets scale linearly: they need proportionally more servers. */
const placed = 100_000
const workingSecs = 8 * 3600

export interface Sensitivity {
  name: string
  /** The bill after doubling, as a multiple. */
  times: number
}
export interface Simulated {
  load: Load
  bill: Bill
  placed: readonly Placed[]
  moves: ReadonlyArray<{ of: 'usual' | 'largest'; guard: Guard; megabytes: number; moved: Moved }>
  outages: readonly Outage[]
  sensitivity: readonly Sensitivity[]
}

/** Simulates a fleet for `count` organizations. A seed always produces the same fleet. */
export function simulate(measured: Measured, assumed: Assumed, count: number, seed: number): Simulated {
  const organizations = drawOrganizations(assumed, count, seed)
  const load = loadOf(measured, assumed, organizations)
  const bill = billOf(measured, assumed, load)
  const { weights, gigabytes } = weightsOf(
    measured,
    assumed,
    count > placed ? drawOrganizations(assumed, placed, seed) : organizations,
  )
  return {
    load,
    bill,
    placed: methods.map(method => place(method, weights, gigabytes, seed)),
    moves: movesOf(measured, assumed, organizations, seed),
    outages: outagesOf(assumed, { ...load, servers: Math.max(1, bill.servers / (1 + assumed.replicas)) }, seed),
    sensitivity: sensitivityOf(measured, assumed, count, seed, bill.month),
  }
}

/** The share of a libSQL server that each organization needs: of its processors or its disk, the larger one. */
function weightsOf(
  measured: Measured,
  assumed: Assumed,
  organizations: Organizations,
): Record<'weights' | 'gigabytes', Float64Array> {
  const { count, present } = organizations
  const person = costOfPerson(measured, assumed)
  const [weights, gigabytes] = [new Float64Array(count), new Float64Array(count)]
  const processors = assumed.serverProcessors * assumed.load * 1e6 * 3600
  // Servers have organizations of all zones, whose peaks do not coincide.
  const share = Math.max(...dayShape) / 1.5
  for (let at = 0; at < count; at++) {
    gigabytes[at] = bytesOf(measured, assumed, organizations, at) / 1e9
    weights[at] = Math.min(
      0.8,
      Math.max((present[at]! * person.sqld * share) / processors, gigabytes[at]! / (assumed.serverDisk * assumed.fill)),
    )
  }
  return { weights, gigabytes }
}

function movesOf(measured: Measured, assumed: Assumed, organizations: Organizations, seed: number): Simulated['moves'] {
  const { present: working, people } = organizations
  const order = [...working.keys()].filter(at => working[at]! > 0).sort((a, b) => people[a]! - people[b]!)
  if (order.length === 0) return []
  const chosen = { usual: order[Math.floor(order.length / 2)]!, largest: order.at(-1)! }
  return Object.entries(chosen).flatMap(([of, at]) => {
    const megabytes = bytesOf(measured, assumed, organizations, at) / 1e6
    const present = working[at]!
    const [changes, pieces] = [
      (assumed.sittings * assumed.sittingMinutes * assumed.writesAnHour) / 60,
      assumed.sessionsADay * assumed.piecesASession,
    ]
    const { card, event, piece } = measured.bytes
    const move = {
      megabytes,
      copyMegabytesPerSec: measured.namespace.copyMegabytesPerSec,
      writesASec: (present * (changes + pieces)) / workingSecs,
      kilobytesAWrite: (changes * (card + event) + pieces * piece) / (changes + pieces) / 1000,
      daemons,
      leaseSecs,
      coldSecs: measured.namespace.coldMs / 1000,
    }
    return guards.map(guard => ({
      of: of as 'usual' | 'largest',
      guard,
      megabytes,
      moved: moveNamespace({ ...move, guard }, seed),
    }))
  })
}

/** The effect on the bill when each assumption, and each measurement, is doubled. */
function sensitivityOf(
  measured: Measured,
  assumed: Assumed,
  count: number,
  seed: number,
  month: number,
): Sensitivity[] {
  const sample = Math.min(count, 10_000)
  const monthOf = (found: Measured, values: Assumed) =>
    billOf(found, values, loadOf(found, values, drawOrganizations(values, sample, seed))).month
  const before = sample === count ? month : monthOf(measured, assumed)
  const doubled = assumptionNames.map(name => {
    const isShare = assumptions[name].unit.startsWith('of ') && assumed[name] <= 1
    const values = { ...assumed, [name]: isShare ? Math.min(1, assumed[name] * 2) : assumed[name] * 2 }
    return { name, times: monthOf(measured, values) / before }
  })
  const costs = {
    'cost of requests': { requests: twice(measured.requests) },
    'cost of a delivery': { delivery: measured.delivery * 2 },
    'cost of a piece': { piece: twice(measured.piece) },
    'disk of rows': { bytes: twice(measured.bytes) },
    'memory of a namespace': {
      namespace: { ...measured.namespace, openKilobytes: measured.namespace.openKilobytes * 2 },
    },
  }
  const measuredTwice = Object.entries(costs).map(([name, change]) => ({
    name,
    times: monthOf({ ...measured, ...change }, assumed) / before,
  }))
  return [...doubled, ...measuredTwice].sort((a, b) => Math.abs(Math.log(b.times)) - Math.abs(Math.log(a.times)))
}

/** Doubles all numbers in it. */
function twice<T>(value: T): T {
  if (typeof value === 'number') return (value * 2) as T
  return Object.fromEntries(Object.entries(value as object).map(([name, each]) => [name, twice(each)])) as T
}
