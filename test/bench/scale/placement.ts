import { createRandom, hash } from '../../support/run/random.ts'

const months = 12
const monthsToGrow = 6
/** A server above this share of its capacity is relieved; one is added when the mean is above that. */
const [full, crowded, relieved] = [1, 0.85, 0.9]

export type Method = 'directory' | 'rendezvous'
/** The effect of a year of growth on servers. */
export interface Placed {
  method: Method
  servers: number
  /** The fullest server's load at the end, as a multiple of the mean. */
  fullest: number
  moved: number
  movedShare: number
  movedGigabytes: number
}
interface Fleet {
  server: Uint32Array
  loads: number[]
  moved: number
  movedGigabytes: number
}

/**
 * Places organizations for a year: half exist at the start, the others arrive monthly, and each grows to its size within half a year,
 * because its final size is unknown at first. With a directory a new one goes to the server with most capacity, and the excess is moved;
 * by rendezvous hashing the place follows from the names of the servers, so that a full server is relieved only by one more server.
 * @param weights the final share of a server that each needs; the largest can need its own server, but not more
 * @param gigabytes the size of each
 */
export function place(method: Method, weights: Float64Array, gigabytes: Float64Array, seed: number): Placed {
  const count = weights.length
  const random = createRandom(seed)
  const usual = meanOf(weights)
  const bornIn = Float64Array.from(weights, () => (random() < 0.5 ? -monthsToGrow : Math.floor(random() * months)))
  const fleet: Fleet = { server: new Uint32Array(count).fill(0xffffffff), loads: [0], moved: 0, movedGigabytes: 0 }
  for (let month = 0; month <= months; month++) {
    const grownOf = (at: number) => Math.min(1, Math.max(0, (month - bornIn[at]!) / monthsToGrow))
    // A directory reserves capacity for young organizations, which look alike.
    const sizeOf = (at: number) =>
      Math.max(weights[at]! * grownOf(at), method === 'directory' && grownOf(at) < 1 ? usual : 0)
    fleet.loads.fill(0)
    for (let at = 0; at < count; at++)
      if (fleet.server[at] !== 0xffffffff) fleet.loads[fleet.server[at]!]! += sizeOf(at)
    for (let at = 0; at < count; at++) {
      if (fleet.server[at] !== 0xffffffff || bornIn[at]! > month) continue
      const to = method === 'directory' ? minLoadIndex(fleet.loads) : winnerOf(at, fleet.loads.length)
      fleet.server[at] = to
      fleet.loads[to]! += sizeOf(at)
    }
    const before = fleet.server.slice()
    if (method === 'directory') relieve(fleet, sizeOf)
    else addHashed(fleet, sizeOf)
    // Before the first month, organizations were placed elsewhere.
    if (month > 0)
      for (let at = 0; at < count; at++)
        if (before[at] !== fleet.server[at]) {
          fleet.moved++
          fleet.movedGigabytes += gigabytes[at]! * grownOf(at)
        }
  }
  return {
    method,
    servers: fleet.loads.length,
    fullest: Math.max(...fleet.loads) / meanOf(fleet.loads),
    moved: fleet.moved,
    movedShare: fleet.moved / count,
    movedGigabytes: fleet.movedGigabytes,
  }
}

function meanOf(values: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < values.length; at++) sum += values[at]!
  return sum / values.length
}
const minLoadIndex = (loads: readonly number[]) =>
  loads.reduce((best, load, at) => (load < loads[best]! ? at : best), 0)

/** Adds servers while the mean is high, and moves the excess of each full one to the server with most capacity. */
function relieve(fleet: Fleet, sizeOf: (at: number) => number): void {
  const { server, loads } = fleet
  while (meanOf(loads) > crowded) loads.push(0)
  const tooFull = new Set(loads.flatMap((load, at) => (load > full ? [at] : [])))
  if (tooFull.size === 0) return
  for (let at = 0; at < server.length && tooFull.size > 0; at++) {
    const from = server[at]!
    const size = from === 0xffffffff ? 0 : sizeOf(at)
    if (!tooFull.has(from) || size === 0) continue
    const to = minLoadIndex(loads)
    if (loads[to]! + size > full) continue
    loads[from]! -= size
    loads[to]! += size
    server[at] = to
    if (loads[from]! <= relieved) tooFull.delete(from)
  }
}

/** Adds servers until none is full, or until no number would suffice: one organization fills a server nearly alone. */
function addHashed({ server, loads }: Fleet, sizeOf: (at: number) => number): void {
  while (Math.max(...loads) > full && meanOf(loads) > full / 4) {
    const added = loads.length
    loads.push(0)
    for (let at = 0; at < server.length; at++) {
      if (server[at] === 0xffffffff || hash(at, added) <= hash(at, server[at]!)) continue
      const size = sizeOf(at)
      loads[server[at]!]! -= size
      loads[added]! += size
      server[at] = added
    }
  }
}

function winnerOf(at: number, servers: number): number {
  let best = 0
  for (let server = 1; server < servers; server++) if (hash(at, server) > hash(at, best)) best = server
  return best
}
