import { dropLease, holdsLease, takeLease } from '../store/daemons.ts'
import type { Database, Reader, Transaction } from '../store/database.ts'

/** The right to do something that one daemon at a time may do, until it is given up or its time is over. */
export interface Turn {
  /** Whether no other daemon has taken it over. */
  holds(db: Reader): Promise<boolean>
  end(tx: Transaction): Promise<void>
}

/** Takes or renews a turn for so long; undefined while another daemon has it. A daemon alone on its database always has it. */
export async function takeTurn(db: Database, daemonId: string, name: string, forMs: number): Promise<Turn | undefined> {
  if (!db.isShared) return { holds: async () => true, end: async () => {} }
  const token = await db.transaction(tx => takeLease(tx, name, daemonId, forMs))
  return token === undefined
    ? undefined
    : { holds: reader => holdsLease(reader, name, daemonId, token), end: tx => dropLease(tx, name, daemonId) }
}
