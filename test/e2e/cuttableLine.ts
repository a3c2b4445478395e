import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A connection to a server that can be cut: then no data passes in either direction, and neither side is notified. */
export interface CuttableLine {
  port: number
  cut(): void
  mend(): void
  close(): Promise<void>
}

export async function cuttableLine(toPort: number): Promise<CuttableLine> {
  const sockets = new Set<Socket>()
  let isCut = false
  const add = (from: Socket, to: Socket) => {
    sockets.add(from)
    if (isCut) from.pause()
    from.on('data', chunk => {
      if (!to.destroyed && !to.write(chunk)) from.pause()
    })
    to.on('drain', () => {
      if (!isCut) from.resume()
    })
    from
      .on('error', () => to.destroy())
      .on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
  }
  // Waiting for the acknowledgment of small messages would be a slow connection, not a cut one.
  const server = createServer({ noDelay: true }, client => {
    const up = connect({ port: toPort, host: '127.0.0.1', noDelay: true })
    add(client, up)
    add(up, client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    cut: () => {
      isCut = true
      for (const socket of sockets) socket.pause()
    },
    mend: () => {
      isCut = false
      for (const socket of sockets) socket.resume()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
