import { hashToken } from '../domain/accounts/token.ts'
import type { Database } from '../store/engine/database.ts'
import { keepTicket, markTicket, takeTicket } from '../store/accounts/tickets.ts'
import type { Seal } from './seal.ts'

/** Remembers used secrets for a short time. */
export interface Marks {
  /** @returns whether the secret is used for the first time */
  set(secret: string): Promise<boolean>
}

/** The database stores a hash of each secret. If there are more than `maxKept` marks, the oldest are deleted. */
export const createMarks = (
  kind: string,
  db: Database,
  { maxKept, lifeMs }: { maxKept: number; lifeMs: number },
): Marks => ({
  set: secret => db.transaction(tx => markTicket(tx, { kind, key: hashToken(secret), value: '', lifeMs }, maxKept)),
})

/** Single-use values under a secret, for a short time. Any daemon can redeem them. */
export interface Tickets<T> {
  keep(secret: string, value: T): Promise<void>
  /** Takes the value of a secret. Undefined if it was already taken or has expired. */
  take(secret: string): Promise<T | undefined>
}

/**
 * The database stores a hash of each secret, and the value as sealed JSON. If there are more than `maxKept` values, the oldest are deleted.
 * This limits the storage that strangers can fill.
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
