import { dropLease, holdsLease, takeLease } from '../store/daemons.ts'
import type { Database, Reader, Transaction } from '../store/database.ts'

/** The right to do something that one daemon at a time may do, until it is given up or its time is over. */
export interface Lease {
  /** Whether no other daemon has taken it over. */
  isHeld(db: Reader): Promise<boolean>
  release(tx: Transaction): Promise<void>
}

/** Takes or renews a lease for so long; undefined while another daemon has it. A daemon alone on its database always has it. */
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
