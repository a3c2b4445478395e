import type { Clock } from '../async/clock.ts'
import { throttle } from '../async/throttle.ts'
import { causeOf, type Log } from '../config/log.ts'
import type { Database } from '../store/engine/database.ts'
import { countAuditFailures, insertAuditFailure, insertAuditRow, type NewAuditRow } from '../store/server/audit.ts'
import { networkOf } from './throttle.ts'

/** Retention of entries, and the limit of failures: years of password guessing take about 20 MB. */
export const auditDays = 400
export const maxKeptFailures = 100_000
/** The maximum number of failure entries per minute, regardless of the number of addresses. */
const maxFailuresPerMinute = 50
const minuteMs = 60_000
const flushMs = 5000

/** The record of a failed sign-in. */
interface FailedSignIn {
  action: string
  address: string
  /** The account of the attempt, if it exists. */
  userId: number | null
  /** The error code. */
  code: string
}

/** Writes those audit entries that are not part of the transaction they record. */
export interface Audit {
  /** Writes an entry about a completed action. */
  add(entry: NewAuditRow): Promise<void>
  /** Records a failure; failures of one address within a minute share an entry with a count. Never throws. */
  recordFailure(failure: FailedSignIn): Promise<void>
  /** Flushes pending counts. */
  close(): Promise<void>
}

interface Failures {
  id: Promise<number | undefined>
  count: number
  written: number
  targetId: string | null
}

export function createAudit(db: Database, log: Log, clock: Clock): Audit {
  let minute = 0
  let present = new Map<string, Failures>()

  const note = (error: unknown) => log('error', 'The audit log could not be written.', { cause: causeOf(error) })
  const flush = async () => {
    flushSoon.cancel()
    for (const failures of [...present.values()].filter(({ count, written }) => count > written)) {
      const id = await failures.id
      const { count, targetId } = failures
      if (id !== undefined)
        await db.transaction(async tx => countAuditFailures(tx, { id, count, targetId })).catch(note)
      failures.written = count
    }
  }
  const flushSoon = throttle(() => void flush(), flushMs)
  const begin = (failure: FailedSignIn, isOfMany: boolean): Failures => {
    const entry = failureEntry(failure, isOfMany)
    const id = db
      .transaction(tx => insertAuditFailure(tx, entry))
      .catch((error: unknown) => {
        note(error)
        return undefined
      })
    return { id, count: 1, written: 1, targetId: entry.targetId }
  }

  return {
    add: entry => db.transaction(async tx => insertAuditRow(tx, entry)),
    recordFailure: async failure => {
      const now = Math.floor(clock().getTime() / minuteMs)
      if (now !== minute) {
        await flush()
        minute = now
        present = new Map()
      }
      const own = `${failure.action} ${networkOf(failure.address)}`
      const isOfMany = !present.has(own) && present.size >= maxFailuresPerMinute
      const key = isOfMany ? `${failure.action} of many` : own
      const known = present.get(key)
      if (!known) {
        const begun = begin(failure, isOfMany)
        present.set(key, begun)
        await begun.id
        return
      }
      known.count++
      if (known.targetId !== (failure.userId === null ? null : String(failure.userId))) known.targetId = null
      flushSoon()
    },
    close: flush,
  }
}

/** @param isOfMany the entry counts failures of many addresses, so it does not name one */
const failureEntry = (failure: FailedSignIn, isOfMany: boolean): NewAuditRow => ({
  outcome: 'failed',
  action: failure.action,
  actorKind: 'nobody',
  actorId: null,
  actorName: null,
  targetKind: 'user',
  targetId: failure.userId === null || isOfMany ? null : String(failure.userId),
  viaKind: 'sign-in',
  viaId: null,
  address: isOfMany ? null : failure.address,
  detail: JSON.stringify(isOfMany ? {} : { code: failure.code }),
})
