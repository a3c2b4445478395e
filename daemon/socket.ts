import nodeAdapter from 'crossws/adapters/node'
import type { Peer } from 'crossws'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../src/app.ts'
import { Problem } from '../src/contract/errors.ts'
import type { Ended } from '../src/identity/revocations.ts'
import type { Log } from './log.ts'
import { admit, refuse, type Admission } from './socket/admission.ts'
import { closeCodes, closePeer, openConnection, type Connection } from './socket/connection.ts'
import { createFanOut } from './socket/fanOut.ts'
import { createFeed, type Feed } from './socket/feed.ts'
import { handleMessage } from './socket/messages.ts'
import { startWatch } from './socket/watch.ts'

const mostMessageBytes = 64 * 1024
const heartbeatSecs = 30
const goodbyeMs = 2000

/** The live events of one server: `GET /api/ws` (specification "Events"). */
export interface Socket {
  /** Takes a request of the node server's 'upgrade' event, and always answers it. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Closes every socket with 1001, and after two seconds those that have not gone. Later ones are refused. */
  close(): Promise<void>
  /** How many sockets are open. */
  count(): number
}

export function createSocket(app: App, log: Log): Socket {
  const connections = new Map<Peer, Connection>()
  const feeds = new Map<Connection, Feed>()
  const watch = startWatch(app.db, feeds, log)
  const fanOut = createFanOut(app.outbox, watch.look)
  const now = () => app.config.clock().toISOString()
  let closing = false

  const open = (peer: Peer) => {
    const admission = peer.context.admission as Admission
    if (closing) return void closePeer(peer, closeCodes.goingAway, 'The server is shutting down.')
    if ('refusal' in admission) return void closePeer(peer, closeCodes.unauthenticated, admission.refusal)
    const connection = openConnection(peer, admission.caller, admission.renew, log)
    connections.set(peer, connection)
    feeds.set(connection, createFeed(connection, app.outbox, fanOut, now, log))
  }
  const turns = new WeakMap<Connection, Promise<void>>()
  const message = (peer: Peer, { rawData }: { rawData: unknown }) => {
    const connection = connections.get(peer)
    if (!connection?.countMessage()) return
    const turn = (turns.get(connection) ?? Promise.resolve()).then(() => handleMessage(app.db, connection, feeds.get(connection)!, rawData))
    turns.set(connection, turn.catch((error: unknown) => fail(peer, error)))
  }
  const close = (peer: Peer) => {
    const connection = connections.get(peer)
    if (!connection) return
    connection.onClose()
    feeds.get(connection)!.close()
    feeds.delete(connection)
    connections.delete(peer)
  }
  const fail = (peer: Peer, error: unknown) => {
    log('error', 'A socket failed.', { cause: error instanceof Error ? error.stack : String(error) })
    connections.get(peer)?.end(closeCodes.failed, 'Something went wrong.')
  }
  /** A hook that throws would end the process. */
  const safely = <Rest extends unknown[]>(hook: (peer: Peer, ...rest: Rest) => void) => (peer: Peer, ...rest: Rest) => {
    try { hook(peer, ...rest) } catch (error) { fail(peer, error) }
  }

  const adapter = nodeAdapter({
    getNamespace: () => 'board', idleTimeout: heartbeatSecs,
    serverOptions: { maxPayload: mostMessageBytes, perMessageDeflate: false, clientTracking: false },
    hooks: {
      open: safely(open), message: safely(message), close: safely(close),
      drain: safely(peer => connections.get(peer)?.onDrain()),
      ping: safely(peer => { connections.get(peer)?.countMessage() }),
      // The protocol was broken, or a message was too large: a close code is on its way, and no more is read.
      error: safely(peer => { connections.get(peer)?.end(closeCodes.failed, '') }),
    },
  })
  const stopHearing = app.identity.onRevoked(ended => {
    for (const connection of connections.values()) if (isEnded(connection, ended)) connection.end(closeCodes.unauthenticated, 'The token has ended.')
  })

  return {
    handleUpgrade: (request, socket, head) => {
      socket.on('error', () => { /* The client is gone; 'close' follows. */ })
      const upgrade = async () => {
        if (closing) throw new Problem('SHUTTING_DOWN')
        const admission = await admit(app, request)
        await adapter.handleUpgrade(request, socket, head, Object.assign(new Request('http://board/api/ws'), { context: { admission } }))
      }
      upgrade().catch((error: unknown) => {
        if (!(error instanceof Problem)) log('error', 'A socket could not be opened.', { cause: error instanceof Error ? error.stack : String(error) })
        refuse(socket, error instanceof Problem ? error : new Problem('INTERNAL'))
      })
    },
    close: async () => {
      closing = true
      stopHearing()
      watch.stop()
      for (const connection of connections.values()) connection.end(closeCodes.goingAway, 'The server is shutting down.')
      for (const giveUpAt = performance.now() + goodbyeMs; connections.size > 0 && performance.now() < giveUpAt;) await delay(20)
      adapter.closeAll(undefined, undefined, true)
      await adapter.close()
    },
    count: () => connections.size,
  }
}

const isEnded = ({ caller }: Connection, ended: Ended) => {
  if ('tokenHash' in ended) return caller.tokenHash === ended.tokenHash
  return 'keyId' in ended ? caller.key?.id === ended.keyId : caller.userId === ended.userId
}
