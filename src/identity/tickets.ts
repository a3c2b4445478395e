import { hashToken } from '../domain/token.ts'
import type { Database } from '../store/database.ts'
import { keepTicket, markTicket, takeTicket } from '../store/tickets.ts'
import type { Seal } from './seal.ts'

/** Remembers used secrets for a short time. */
export interface Marks {
  /** @returns whether the secret is used for the first time */
  set(secret: string): Promise<boolean>
}

/** Of a secret the database has a hash. Of more than `most` marks the oldest are forgotten. */
export const createMarks = (
  kind: string,
  db: Database,
  { maxKept, lifeMs }: { maxKept: number; lifeMs: number },
): Marks => ({
  set: secret => db.transaction(tx => markTicket(tx, { kind, key: hashToken(secret), value: '', lifeMs }, maxKept)),
})

/** Single-use values under a secret, for a short time; any daemon can redeem them. */
export interface Tickets<T> {
  keep(secret: string, value: T): Promise<void>
  /** Takes the value of a secret; undefined if it was taken or has expired. */
  take(secret: string): Promise<T | undefined>
}

/**
 * Of a secret the database has a hash, and the value as sealed JSON.
 * @param most of more than these the oldest are forgotten, which bounds what strangers can make the server remember
 */
export function createTickets<T>(
  kind: string,
  { db, seal }: { db: Database; seal: Seal },
  { maxKept, lifeMs }: { maxKept: number; lifeMs: number },
): Tickets<T> {
  const place = (key: string) => `tickets/${kind}/${key}`
  return {
    keep: (secret, value) => {
      const key = hashToken(secret)
      return db.transaction(tx =>
        keepTicket(tx, { kind, key, value: seal.seal(place(key), JSON.stringify(value)), lifeMs }, maxKept),
      )
    },
    take: async secret => {
      const key = hashToken(secret)
      const sealed = await db.transaction(tx => takeTicket(tx, kind, key))
      return sealed === undefined ? undefined : (JSON.parse(seal.open(place(key), sealed)) as T)
    },
  }
}
