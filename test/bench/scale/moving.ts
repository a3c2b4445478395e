import { quantile } from '../figures.ts'
import { createRandom, untilNext } from '../../support/run/random.ts'

/**
 * How writes are kept from the old place once the rest is copied: its server rejects them (`fence`); the directory announces the move, and
 * all cached entries have expired before the rest is copied (`lease`); or by nothing, to measure the loss.
 */
export type Guard = 'fence' | 'lease' | 'none'
export interface Move {
  megabytes: number
  copyMegabytesPerSec: number
  writesASec: number
  kilobytesAWrite: number
  daemons: number
  leaseSecs: number
  coldSecs: number
  guard: Guard
}
export interface Moved {
  writes: number
  /** Acknowledged writes that are not in the new place. */
  lost: number
  /** From the first copied byte until the new place is the only one. */
  secs: number
  /** How long no write was possible. */
  pauseSecs: number
  delayed: number
  delaySecs: { median: number; p99: number }
}

const [roundTripSecs, retrySecs, closeSecs, aroundSecs] = [0.002, 0.05, 0.2, 5]
const maxRounds = 20

/** The times of a move: copy, then the writes since, repeatedly, until little is left; then the switch. */
function timesOf({ megabytes, copyMegabytesPerSec, writesASec, kilobytesAWrite, leaseSecs, coldSecs, guard }: Move) {
  const written = (writesASec * kilobytesAWrite) / 1000 / copyMegabytesPerSec
  let [restSecs, now] = [megabytes / copyMegabytesPerSec, 0]
  for (let round = 0; round < maxRounds && restSecs > closeSecs; round++) {
    now += restSecs
    restSecs *= written
  }
  const announcedAt = now
  const blockedAt = guard === 'lease' ? now + leaseSecs : now
  // While the entries expire, daemons that have seen the announcement stop writing in the old place.
  const switchedAt = blockedAt + restSecs + coldSecs
  return { announcedAt, blockedAt, switchedAt }
}

/**
 * One move under writes of daemons, each with the directory's state at its last poll. Writes long before the switch
 * are copied in any case, so the writes start shortly before it.
 */
export function moveNamespace(move: Move, seed: number): Moved {
  const random = createRandom(seed)
  const times = timesOf(move)
  const { blockedAt, switchedAt } = times
  const beginsAt = Math.max(0, times.announcedAt - move.leaseSecs - aroundSecs)
  const looked = Array.from({ length: move.daemons }, () => beginsAt - random() * move.leaseSecs)
  const counted = { writes: 0, lost: 0 }
  const delays: number[] = []
  for (let at = beginsAt + untilNext(random, move.writesASec); at < switchedAt + move.leaseSecs + aroundSecs;) {
    const { place, doneAt } = write(move, times, looked, Math.floor(random() * move.daemons), at)
    counted.writes++
    if (place === 'old' && doneAt >= blockedAt) counted.lost++
    if (doneAt > at) delays.push(doneAt - at)
    at += untilNext(random, move.writesASec)
  }
  return {
    ...counted,
    secs: switchedAt,
    pauseSecs: switchedAt - (move.guard === 'lease' ? times.announcedAt : blockedAt),
    delayed: delays.length,
    delaySecs:
      delays.length === 0 ? { median: 0, p99: 0 } : { median: quantile(delays, 0.5), p99: quantile(delays, 0.99) },
  }
}

type Times = ReturnType<typeof timesOf>

/** The directory's state at a time. */
const directoryAt = ({ guard }: Move, { announcedAt, switchedAt }: Times, time: number) =>
  time >= switchedAt ? 'new' : guard === 'lease' && time >= announcedAt ? 'moving' : 'old'

/** A daemon's write at a time: a rejected write polls the directory again, and waits during the move. */
function write(
  move: Move,
  times: Times,
  looked: number[],
  daemon: number,
  at: number,
): { place: 'old' | 'new'; doneAt: number } {
  for (let now = at; ; now += retrySecs) {
    if (now - looked[daemon]! >= move.leaseSecs) looked[daemon] = now
    const place = directoryAt(move, times, looked[daemon]!)
    if (place === 'new') return { place, doneAt: now }
    const isFenced = move.guard === 'fence' && now >= times.blockedAt
    if (place === 'old' && !isFenced) return { place, doneAt: now }
    looked[daemon] = now
    if (directoryAt(move, times, now) === 'new') return { place: 'new', doneAt: now + roundTripSecs }
  }
}
