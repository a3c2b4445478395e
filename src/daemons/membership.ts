import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createSerialQueue } from '../async/serialQueue.ts'
import { logFailure, reasonOf, type Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import { version } from '../config/version.ts'
import { Problem } from '../contract/errors.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { recordHeartbeat, forgetDaemon, holdsLease, type Self } from '../store/server/daemons.ts'
import type { Database } from '../store/engine/database.ts'

const renewMs = 750
const retryMs = 50
/** The deadline of a heartbeat. It is shorter than the lease, so that a late heartbeat of a stalled daemon renews nothing. */
const lateMs = 2500
const duties = ['machine', 'board'] as const

/** Exclusive work of one daemon: on this machine's projects, or on the whole board. */
export type Duty = 'machine' | 'board'

/** This daemon's leases among those that share its database. If it is alone, it holds every lease permanently. */
export interface Membership {
  readonly id: string
  /** Whether it holds the lease of a duty and has started the duty. */
  has(duty: Duty): boolean
  /** The age of its last successful heartbeat. 0 if it is alone. */
  secsSinceHeartbeat(): number
  /** The database for the work of a duty, fenced: writes fail once another daemon holds the lease. */
  databaseFor(duty: Duty): Database
  /** Takes free leases from now on. Other daemons reach this one at the address. */
  start(url: string, listener: DutyListener, log: Log): void
  /** Releases its leases. */
  stop(): Promise<void>
}
interface DutyListener {
  /** Called when this daemon takes a duty's lease. One duty at a time. */
  onDuty(duty: Duty): Promise<void>
  /** Called when a lease is lost: the work of that duty must stop here. */
  onRelieved(): void
}

/** The name of a duty's lease. */
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
  const heartbeat = timeHeartbeats(metrics)
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
      // Leases are renewed in the meantime. A duty that fails to start is retried.
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
      runFenced(db, async tx => {
        const token = tokens.get(duty)
        if (token === undefined || !(await holdsLease(tx, leaseOf(duty, host), self.id, token)))
          throw new Problem('SHUTTING_DOWN', 'Another server has taken over this work.')
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
          /* The leases expire automatically. */
        })
      for (const each of [tokens, takenUp]) each.clear()
    },
  }
}

/** Logs the start and the length of an outage of the leases. */
function createOutage(log: Log): { begin(error: unknown): void; end(): void } {
  let beganAtMs: number | undefined
  return {
    begin: error => {
      if (beganAtMs !== undefined) return
      beganAtMs = performance.now()
      log('warn', 'The leases cannot be renewed; retrying.', { cause: reasonOf(error) })
    },
    end: () => {
      if (beganAtMs === undefined) return
      log('warn', 'The leases are renewed again.', { ms: Math.round(performance.now() - beganAtMs) })
      beganAtMs = undefined
    },
  }
}

/** Takes free leases and renews this daemon's leases, unless the message is delayed by a stall. */
function leaseTaker(db: Database, host: string): (self: Self) => Promise<Array<[Duty, number | undefined]>> {
  let heard: { databaseMs: number; atMs: number } | undefined
  return async self => {
    const untilMs = heard && heard.databaseMs + performance.now() - heard.atMs + lateMs
    // The offset to the database's clock might have changed.
    heard = undefined
    const { tokens, nowMs } = await recordHeartbeat(
      db,
      self,
      duties.map(duty => leaseOf(duty, host)),
      untilMs,
    )
    heard = { databaseMs: nowMs, atMs: performance.now() }
    return duties.map((duty, at) => [duty, tokens[at]])
  }
}

/** Measures each heartbeat, and returns the age of the last successful one. */
function timeHeartbeats(metrics: Metrics): { time<T>(work: () => Promise<T>): Promise<T>; secsSince(): number } {
  const timing = metrics.timing({
    name: 'board_heartbeat_seconds',
    help: "Duration of this daemon's heartbeats, which renew its leases in the database.",
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

/** Repeats work at an interval; after a failure the time that it took counts toward the interval. */
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
      /* Shutting down. */
    })
  }
}

/** A database with fencing: each write first checks that the lease is still held. */
const runFenced = (
  db: Database,
  check: (tx: Parameters<Parameters<Database['transaction']>[0]>[0]) => Promise<void>,
): Database => ({
  ...db,
  transaction: (work, actor) =>
    db.transaction(async tx => {
      await check(tx)
      return work(tx)
    }, actor),
})
