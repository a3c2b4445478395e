import { createServer } from 'node:net'
import { Problem } from '../contract/errors.ts'
import { maxPorts } from '../contract/worktree.ts'
import { listPortsInUse, readFirstPort, setFirstPort } from '../store/cardPorts.ts'
import type { Database } from '../store/database.ts'

/** Below the ports that Linux and macOS give to outgoing connections, and above those of usual services. */
const [lowest, highest] = [20_000, 32_759]
const firstPorts = Array.from({ length: (highest + 1 - lowest) / maxPorts }, (_, at) => lowest + at * maxPorts)

/**
 * The ports that a card has for itself, the same each time while nothing else listens on them. Archived cards lend theirs.
 * @throws Problem CONFLICT when all are taken
 */
export async function portsOf(db: Database, cardId: number, count: number): Promise<number[]> {
  if (count === 0) return []
  const [kept, taken] = [await readFirstPort(db, cardId), new Set(await listPortsInUse(db, cardId))]
  if (kept !== undefined && !taken.has(kept)) return portsFrom(kept, count)
  for (const first of firstPorts) {
    if (taken.has(first) || !(await areFree(portsFrom(first, maxPorts)))) continue
    const isKept = await db.transaction(async tx => {
      if ((await listPortsInUse(tx, cardId)).includes(first)) return false
      await setFirstPort(tx, cardId, first)
      return true
    })
    if (isKept) return portsFrom(first, count)
  }
  throw new Problem('CONFLICT', `No ports are free: all from ${lowest} to ${highest} are taken. Archive cards.`)
}

/** BOARD_PORT, BOARD_PORT_2 and so on. */
export const portVariables = (ports: readonly number[]): Record<string, string> =>
  Object.fromEntries(ports.map((port, at) => [at === 0 ? 'BOARD_PORT' : `BOARD_PORT_${at + 1}`, String(port)]))

/** A card's ports, by its first one. */
export const portsFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => first + at)

/** Whether nothing listens on any of these ports of this machine. */
export const areFree = async (ports: readonly number[]): Promise<boolean> =>
  (await Promise.all(ports.map(isFree))).every(Boolean)

const isFree = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
