import { dropLease, holdsLease, takeLease } from '../store/server/daemons.ts'
import type { Database, Reader, Transaction } from '../store/engine/database.ts'

/** The exclusive right of one daemon to do something, until it is released or expires. */
export interface Lease {
  /** Returns false once another daemon has taken over the lease. */
  isHeld(db: Reader): Promise<boolean>
  release(tx: Transaction): Promise<void>
}

/** Takes or renews a lease; undefined while another daemon holds it. On an unshared database it always succeeds. */
export async function acquireLease(
  db: Database,
  daemonId: string,
  name: string,
  forMs: number,
): Promise<Lease | undefined> {
  if (!db.isShared) return { isHeld: async () => true, release: async () => {} }
  const token = await db.transaction(tx => takeLease(tx, name, daemonId, forMs))
  return token === undefined
    ? undefined
    : { isHeld: reader => holdsLease(reader, name, daemonId, token), release: tx => dropLease(tx, name, daemonId) }
}
