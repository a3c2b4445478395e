import { hashToken } from '../ids/token.ts'
import type { Database } from '../store/database.ts'
import { keepTicket, takeTicket } from '../store/tickets.ts'
import type { Seal } from './seal.ts'

/** Things that are kept under a secret for a short time, and that each can be taken once. */
export interface Tickets<T> {
  keep(secret: string, value: T): Promise<void>
  /** What was kept under the secret, unless it was taken or its time is over. */
  take(secret: string): Promise<T | undefined>
}

interface Limits { most: number; lifeMs: number }

/**
 * In memory, or where several daemons share the database in it: a browser may begin at one and end at another. Values are JSON
 * then, and sealed.
 * @param name what tells these tickets from others
 */
export const ticketsOf = <T>(name: string, { db, seal, clock }: { db: Database; seal: Seal; clock: () => Date }, limits: Limits): Tickets<T> =>
  db.isShared ? createSharedTickets(name, db, seal, limits) : createTickets({ ...limits, clock })

function createSharedTickets<T>(name: string, db: Database, seal: Seal, { most, lifeMs }: Limits): Tickets<T> {
  const keyOf = (secret: string) => `${name}/${hashToken(secret)}`
  return {
    keep: (secret, value) => db.transaction(tx => keepTicket(tx, keyOf(secret), seal.seal(`tickets/${keyOf(secret)}`, JSON.stringify(value)), lifeMs, most)),
    take: async secret => {
      const sealed = await db.transaction(tx => takeTicket(tx, keyOf(secret)))
      return sealed === undefined ? undefined : JSON.parse(seal.open(`tickets/${keyOf(secret)}`, sealed)) as T
    },
  }
}

/** @param most of more than these the oldest are forgotten, which bounds what strangers can make the server remember */
export function createTickets<T>({ most, lifeMs, clock }: Limits & { clock: () => Date }): Tickets<T> {
  const kept = new Map<string, { value: T; endsAt: number }>()
  const forget = (nowMs: number) => {
    for (const [key, { endsAt }] of kept) {
      if (kept.size < most && endsAt > nowMs) return
      kept.delete(key)
    }
  }
  return {
    keep: async (secret, value) => {
      const nowMs = clock().getTime()
      forget(nowMs)
      kept.set(hashToken(secret), { value, endsAt: nowMs + lifeMs })
    },
    take: async secret => {
      const key = hashToken(secret)
      const ticket = kept.get(key)
      kept.delete(key)
      return ticket && ticket.endsAt > clock().getTime() ? ticket.value : undefined
    },
  }
}
