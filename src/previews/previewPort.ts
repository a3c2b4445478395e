import { connect, createServer, type Server, type Socket } from 'node:net'
import { loopback } from '../domain/cardPorts.ts'
import { join } from '../sandbox/network/forwardRequest.ts'

const maxConnections = 128
const connectTimeoutMs = 2000

/** Connects to a port of a preview that has a network of its own, by its place among the ports. */
type ConnectInside = (index: number) => Promise<Socket>

/** How people reach a preview. */
export interface PreviewPorts {
  /** The host at which something takes connections at the first port now; undefined where nothing does. */
  probe(): Promise<string | undefined>
  close(): void
}

/** The ports of a preview on the machine's own network, where it listens itself. */
export const directPorts = (port: number): PreviewPorts => ({
  probe: async () => {
    for (const host of loopback)
      if (await takesConnections(() => Promise.resolve(connect({ host, port, timeout: connectTimeoutMs })))) return host
    return undefined
  },
  close: () => {},
})

/**
 * Listens on loopback for a preview that has a network of its own, and passes connections on to it.
 * @throws NodeJS.ErrnoException EADDRINUSE
 */
export async function forwardedPorts(ports: readonly number[], connectInside: ConnectInside): Promise<PreviewPorts> {
  const open = new Set<Socket>()
  const servers: Server[] = []
  const close = () => {
    for (const server of servers) server.close()
    for (const socket of open) socket.destroy()
  }
  const pass = (socket: Socket, index: number) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket)).on('error', () => socket.destroy())
    void connectInside(index).then(
      inside => join(socket, inside, 0),
      () => socket.destroy(),
    )
  }
  try {
    for (const [index, port] of ports.entries()) {
      const server = createServer({ allowHalfOpen: true }, socket => pass(socket, index))
      server.maxConnections = maxConnections
      servers.push(server)
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host: loopback[0], port }, resolve)
      })
      server.on('error', () => {
        /* A connection could not be taken; the next one may be. */
      })
    }
  } catch (error) {
    close()
    throw error
  }
  return { probe: async () => ((await takesConnections(() => connectInside(0))) ? loopback[0] : undefined), close }
}

/** Whether a connection can be made; it is closed again at once. */
async function takesConnections(open: () => Promise<Socket>): Promise<boolean> {
  const socket = await open().catch(() => undefined)
  if (!socket) return false
  try {
    if (!socket.connecting) return !socket.destroyed
    return await new Promise<boolean>(resolve => {
      socket
        .once('connect', () => resolve(true))
        .once('timeout', () => resolve(false))
        .once('error', () => resolve(false))
    })
  } finally {
    socket.on('error', () => {}).destroy()
  }
}
