import { setTimeout as delay } from 'node:timers/promises'
import type { Database, Transaction } from '../store/engine/database.ts'
import { insertRevocation, lastRevocation, listRevocations } from '../store/accounts/revocations.ts'

const pollMs = 400

/**
 * The revoked object: one token (by its hash), every token of an account, every sign-in of an account, an API key, or cached
 * permissions of an account (null: of all accounts).
 */
export type Ended =
  | { tokenHash: string }
  | { userId: number }
  | { signInsOf: number }
  | { keyId: number }
  | { rightsOf: number | null }

/**
 * Notifies listeners that keep something open for a caller when the caller's token is revoked. Expiry is not announced, because the
 * listeners check it themselves.
 */
export interface Revocations {
  /** Subscribes to revocations committed from now on. @returns the function that unsubscribes */
  onRevoked(listener: (ended: Ended) => void): () => void
  /** Call this in the revoking transaction: listeners are notified after the commit, including those of other daemons. */
  announce(tx: Transaction, ended: Ended): Promise<void>
}

export function createRevocations(db: Database): Revocations & { close(): void } {
  const listeners = new Set<(ended: Ended) => void>()
  const notify = (ended: Ended) => {
    for (const listener of listeners) listener(ended)
  }
  const stopPolling = db.isShared ? pollRevocations(db, notify) : () => {}
  const notifyRights = (userId: number | undefined) => notify({ rightsOf: userId ?? null })
  db.signals.on('rights', notifyRights)
  return {
    onRevoked: listener => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    announce: async (tx, ended) => {
      if (db.isShared) await insertRevocation(tx, JSON.stringify(ended))
      tx.afterCommit(() => notify(ended))
    },
    close: () => {
      stopPolling()
      db.signals.off('rights', notifyRights)
    },
  }
}

/** Polls for revocations of other daemons, twice a second. Reports this daemon's own revocations again. */
function pollRevocations(db: Database, notify: (ended: Ended) => void): () => void {
  const ending = new AbortController()
  const { signal } = ending
  const poll = async () => {
    let last: number | undefined
    for (
      ;
      !signal.aborted;
      await delay(pollMs, undefined, { signal, ref: false }).catch(() => {
        /* Shutting down. */
      })
    ) {
      try {
        last ??= await lastRevocation(db)
        for (const { id, ended } of await listRevocations(db, last)) {
          notify(JSON.parse(ended) as Ended)
          last = id
        }
      } catch {
        /* The next poll detects it. */
      }
    }
  }
  void poll()
  return () => ending.abort()
}
