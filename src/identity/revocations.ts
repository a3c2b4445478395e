import { setTimeout as delay } from 'node:timers/promises'
import type { Database, Transaction } from '../store/database.ts'
import { insertRevocation, lastRevocation, listRevocations } from '../store/revocations.ts'

const lookMs = 400

/**
 * What no longer holds: one token (by its hash), every token of an account, every sign-in of an account, an API key, or what was
 * known of an account's rights (null: of anybody's), which must be looked up anew.
 */
export type Ended =
  { tokenHash: string } | { userId: number } | { signInsOf: number } | { keyId: number } | { rightsOf: number | null }

/** Tells whoever keeps something open for a caller that the caller's token was ended. Expiry is not told: it is seen by looking again. */
export interface Revocations {
  /** Calls the listener for each end that is committed from now on. Returns the function that stops it. */
  onRevoked(listener: (ended: Ended) => void): () => void
  /** In the transaction of what ends it: tells of it after the commit, the other daemons on the database too. */
  announce(tx: Transaction, ended: Ended): Promise<void>
}

export function createRevocations(db: Database): Revocations & { close(): void } {
  const listeners = new Set<(ended: Ended) => void>()
  const tell = (ended: Ended) => {
    for (const listener of listeners) listener(ended)
  }
  const endHearing = db.isShared ? hearOthers(db, tell) : () => {}
  const tellRights = (userId: number | undefined) => tell({ rightsOf: userId ?? null })
  db.signals.on('rights', tellRights)
  return {
    onRevoked: listener => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    announce: async (tx, ended) => {
      if (db.isShared) await insertRevocation(tx, JSON.stringify(ended))
      tx.afterCommit(() => tell(ended))
    },
    close: () => {
      endHearing()
      db.signals.off('rights', tellRights)
    },
  }
}

/** Hears what other daemons end, and what this one does again, within half a second. */
function hearOthers(db: Database, tell: (ended: Ended) => void): () => void {
  const ending = new AbortController()
  const { signal } = ending
  const hear = async () => {
    let last: number | undefined
    for (
      ;
      !signal.aborted;
      await delay(lookMs, undefined, { signal, ref: false }).catch(() => {
        /* It ends. */
      })
    ) {
      try {
        last ??= await lastRevocation(db)
        for (const { id, ended } of await listRevocations(db, last)) {
          tell(JSON.parse(ended) as Ended)
          last = id
        }
      } catch {
        /* The next look tells of it. */
      }
    }
  }
  void hear()
  return () => ending.abort()
}
