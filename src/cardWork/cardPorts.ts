import { createHash } from 'node:crypto'
import { createServer, type AddressInfo } from 'node:net'
import { Problem } from '../contract/errors.ts'
import { maxPorts } from '../contract/projects/worktree.ts'
import { listPortsInUse, readFirstPort, setFirstPort } from '../store/cards/cardPorts.ts'
import type { Database } from '../store/engine/database.ts'

/** The range is below the ports that Linux and macOS assign to outgoing connections, and above those of common services. */
const [lowest, highest] = [20_000, 32_759]
const firstPorts = Array.from({ length: (highest + 1 - lowest) / maxPorts }, (_, at) => lowest + at * maxPorts)

/** The addresses on which programs listen if they are configured with "localhost". */
export const loopback = ['127.0.0.1', '::1'] as const

/**
 * The reserved ports of a card, which stay the same. Initially, nothing listens on them. Each data folder starts its search at a different
 * port, because an unused port can be reserved by another board on this machine. The ports of archived cards can be reused.
 * @throws Problem CONFLICT if all ports are taken
 */
export async function portsOf(db: Database, dataDir: string, cardId: number, count: number): Promise<number[]> {
  if (count === 0) return []
  const [kept, taken] = [await readFirstPort(db, cardId), new Set(await listPortsInUse(db, cardId))]
  if (kept !== undefined && !taken.has(kept)) return portsFrom(kept, count)
  for (const first of firstPortsFor(dataDir)) {
    if (taken.has(first) || !(await areFree(portsFrom(first, maxPorts)))) continue
    const isKept = await db.transaction(async tx => {
      if ((await listPortsInUse(tx, cardId)).includes(first)) return false
      await setFirstPort(tx, cardId, first)
      return true
    })
    if (isKept) return portsFrom(first, count)
  }
  throw new Problem(
    'CONFLICT',
    `No free ports: all ports from ${lowest} to ${highest} are in use. Archive cards to free some.`,
  )
}

function firstPortsFor(dataDir: string): number[] {
  const begin = createHash('sha256').update(dataDir).digest().readUInt32BE() % firstPorts.length
  return [...firstPorts.slice(begin), ...firstPorts.slice(0, begin)]
}

/** BOARD_PORT, BOARD_PORT_2 and so on. */
export const portVariables = (ports: readonly number[]): Record<string, string> =>
  Object.fromEntries(ports.map((port, at) => [at === 0 ? 'BOARD_PORT' : `BOARD_PORT_${at + 1}`, String(port)]))

/** A card's ports. They follow its first port. */
export const portsFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => first + at)

/** Whether all of these ports of this machine are free. */
const areFree = async (ports: readonly number[]): Promise<boolean> =>
  (await Promise.all(ports.flatMap(port => loopback.map(host => isFree(port, host))))).every(Boolean)

/** A currently unused port, of those that the system assigns. */
export const findFreePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ port: 0, host: loopback[0] }, () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** The errors of a machine without IPv6, or without IPv4. */
const noAddress = ['EADDRNOTAVAIL', 'EAFNOSUPPORT']

const isFree = (port: number, host: string): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(noAddress.includes(error.code ?? '')))
    server.listen({ port, host }, () => server.close(() => resolve(true)))
  })
