import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createSerialQueue } from '../async/serialQueue.ts'
import { logFailure, reasonOf, type Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import { version } from '../config/version.ts'
import { Problem } from '../contract/errors.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { beat, forgetDaemon, holdsLease, type Self } from '../store/daemons.ts'
import type { Database } from '../store/database.ts'

const renewMs = 750
const retryMs = 50
/** How long a heartbeat counts after it was sent: less than its lease, so that one which was held up with its daemon renews nothing. */
const lateMs = 2500
const duties = ['machine', 'board'] as const

/** Work that one daemon does at a time: what belongs to this machine's projects, and what belongs to the whole board. */
export type Duty = 'machine' | 'board'

/** This daemon among those that share its database. Alone, it has every duty from the start and for good. */
export interface Membership {
  readonly id: string
  /** Whether it has a duty and has taken it up. */
  has(duty: Duty): boolean
  /** How long ago it was last noted at the database that this daemon is there; 0 where it is alone. */
  secsSinceHeartbeat(): number
  /** The database for what a duty has it do: it refuses to write once another daemon has taken the duty over. */
  databaseFor(duty: Duty): Database
  /** Takes duties as they are free. The daemons reach this one at the address. */
  start(url: string, listener: DutyListener, log: Log): void
  /** Gives its duties up. */
  stop(): Promise<void>
}
interface DutyListener {
  /** This daemon has a duty from now on. One duty at a time. */
  onDuty(duty: Duty): Promise<void>
  /** Another daemon has taken a duty over: nothing that belongs to it may go on here. */
  onRelieved(): void
}

/** The lease of a duty. */
const leaseOf = (duty: Duty, host: string | null): string => (duty === 'machine' ? `machine:${host}` : 'board')

export const createMembership = (db: Database, config: Pick<ServerConfig, 'database'>, metrics: Metrics): Membership =>
  config.database ? join(db, config.database, metrics) : alone(db)

const alone = (db: Database): Membership => ({
  id: randomUUID(),
  has: () => true,
  secsSinceHeartbeat: () => 0,
  databaseFor: () => db,
  start: () => {},
  stop: async () => {},
})

function join(db: Database, { host, advertise }: NonNullable<ServerConfig['database']>, metrics: Metrics): Membership {
  const heartbeat = timed(metrics)
  const self = { id: randomUUID(), host, version, startedAt: new Date().toISOString() }
  const takeLeases = leaseTaker(db, host)
  const tokens = new Map<Duty, number>()
  const takenUp = new Set<Duty>()
  const stopping = new AbortController()
  let keeping = Promise.resolve()
  const takeovers = createSerialQueue()

  const renew = async (url: string, { onDuty, onRelieved }: DutyListener, log: Log) => {
    for (const [duty, token] of await heartbeat.time(() => takeLeases({ ...self, url: advertise ?? url }))) {
      const before = tokens.get(duty)
      if (before !== undefined && before !== token) return onRelieved()
      if (before !== undefined || token === undefined) continue
      tokens.set(duty, token)
      // The leases are renewed meanwhile. What could not be taken up is tried again.
      void takeovers(async () => {
        await onDuty(duty)
        takenUp.add(duty)
      }).catch((error: unknown) => {
        tokens.delete(duty)
        logFailure(log, 'A duty could not be taken over; retrying.', error, { duty })
      })
    }
  }
  return {
    id: self.id,
    has: duty => takenUp.has(duty),
    secsSinceHeartbeat: heartbeat.secsSince,
    databaseFor: duty =>
      fenced(db, async tx => {
        const token = tokens.get(duty)
        if (token === undefined || !(await holdsLease(tx, leaseOf(duty, host), self.id, token)))
          throw new Problem('SHUTTING_DOWN', 'Another daemon does this now.')
      }),
    start: (url, listener, log) => {
      const outage = createOutage(log)
      keeping = repeat(
        async () => {
          await renew(url, listener, log)
          outage.end()
        },
        outage.begin,
        stopping.signal,
      )
    },
    stop: async () => {
      stopping.abort()
      await Promise.all([keeping, takeovers.idle()])
      await db
        .transaction(tx => forgetDaemon(tx, self.id))
        .catch(() => {
          /* The leases end by themselves. */
        })
      for (const each of [tokens, takenUp]) each.clear()
    },
  }
}

/** Tells once that the leases cannot be renewed, and once for how long that was. */
function createOutage(log: Log): { begin(error: unknown): void; end(): void } {
  let beganAtMs: number | undefined
  return {
    begin: error => {
      if (beganAtMs !== undefined) return
      beganAtMs = performance.now()
      log('warn', 'The leases cannot be renewed; it is tried again until they are.', { cause: reasonOf(error) })
    },
    end: () => {
      if (beganAtMs === undefined) return
      log('warn', 'The leases are renewed again.', { ms: Math.round(performance.now() - beganAtMs) })
      beganAtMs = undefined
    },
  }
}

/** Takes the leases that are free and renews those that this daemon has, unless it stands still meanwhile. */
function leaseTaker(db: Database, host: string): (self: Self) => Promise<Array<[Duty, number | undefined]>> {
  let heard: { databaseMs: number; atMs: number } | undefined
  return async self => {
    const untilMs = heard && heard.databaseMs + performance.now() - heard.atMs + lateMs
    // After a failure the database's clock may be another one.
    heard = undefined
    const { tokens, nowMs } = await beat(
      db,
      self,
      duties.map(duty => leaseOf(duty, host)),
      untilMs,
    )
    heard = { databaseMs: nowMs, atMs: performance.now() }
    return duties.map((duty, at) => [duty, tokens[at]])
  }
}

/** Measures each heartbeat, and tells how long ago the last one was that succeeded. */
function timed(metrics: Metrics): { time<T>(work: () => Promise<T>): Promise<T>; secsSince(): number } {
  const timing = metrics.timing({
    name: 'board_heartbeat_seconds',
    help: 'How long it took to note at the database that this daemon is there, and to keep its duties.',
  })
  let endedAt = performance.now()
  return {
    time: async work => {
      const beganAt = performance.now()
      const result = await work()
      endedAt = performance.now()
      timing.observe((endedAt - beganAt) / 1000)
      return result
    },
    secsSince: () => (performance.now() - endedAt) / 1000,
  }
}

/** What fails is begun again as soon as it could have been done. */
async function repeat(
  work: () => Promise<void>,
  onFailure: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const beganAt = performance.now()
    const waitMs = await work().then(
      () => renewMs,
      (error: unknown) => {
        onFailure(error)
        return Math.max(retryMs, renewMs - (performance.now() - beganAt))
      },
    )
    await delay(waitMs, undefined, { signal, ref: false }).catch(() => {
      /* It stops. */
    })
  }
}

/** A database whose writes look first whether they may still be made. */
const fenced = (
  db: Database,
  check: (tx: Parameters<Parameters<Database['transaction']>[0]>[0]) => Promise<void>,
): Database => ({
  ...db,
  transaction: work =>
    db.transaction(async tx => {
      await check(tx)
      return work(tx)
    }),
})
