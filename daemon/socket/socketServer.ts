import nodeAdapter, { type NodeAdapter } from 'crossws/adapters/node'
import type { Peer } from 'crossws'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../../src/app.ts'
import { logFailure } from '../../src/config/log.ts'
import { Problem } from '../../src/contract/errors.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import type { Ended } from '../../src/identity/revocations.ts'
import { cachedReader } from '../../src/store/engine/cachedReader.ts'
import type { Log } from '../process/stderrLog.ts'
import { refuseConnection } from '../connections/refuseConnection.ts'
import { admitSocket, offersBoard, protocolHeader, subprotocol, type Admission } from './admission.ts'
import { declineUpgrade } from './declineUpgrade.ts'
import { createFanOut } from './fanOut.ts'
import { closeCodes } from './connection.ts'
import { createReplayPages } from './replayPages.ts'
import { SocketSessions, type ShutdownCode } from './sessions.ts'
import { createFairQueue } from './fairQueue.ts'
import { startWatch } from './watch.ts'

const maxMessageBytes = 64 * 1024
const heartbeatSecs = 30
/** About half a millisecond of replay per tick of the event loop, so that it does not delay requests. */
export const partsPerTick = 16
const closeTimeoutMs = 2000

/** The WebSocket server: `GET /api/ws` (specification "Events"). */
export interface SocketServer {
  /**
   * Handles Node's 'upgrade' event and always answers: with a socket, an error, or as a plain request for another
   * protocol.
   */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Closes every socket with 1001 or another code and refuses new ones. Sockets that are still open after 2 s are destroyed. */
  close(code?: ShutdownCode): Promise<void>
  /** How many sockets are open. */
  count(): number
}

export function createSocketServer(
  app: Pick<App, 'catalogue' | 'config' | 'db' | 'identity' | 'metrics' | 'outbox' | 'peerOf'>,
  log: Log,
): SocketServer {
  const fanOut = createFanOut(
    app.outbox,
    () => watch.check(),
    lagObserver(app),
    error => log('error', 'Notifications cannot be delivered.', { cause: String(error) }),
  )
  const sessions = new SocketSessions(cachedReader(app.db), {
    outbox: app.outbox,
    pages: createReplayPages(app.outbox, app.db),
    fanOut,
    turn: createFairQueue(partsPerTick),
    now: () => app.config.clock().toISOString(),
    log,
  })
  const watch = startWatch(app.db, sessions, log)
  const stopHearing = app.identity.onRevoked(ended => {
    if (!('rightsOf' in ended)) return sessions.endMatching(caller => isOf(caller, ended))
    sessions.recheckRights(ended.rightsOf)
    watch.check()
  })
  const adapter = createAdapter(sessions)
  let closing = false

  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const admission = closing ? undefined : await admitSocket(app, request)
    if (!admission || closing) throw new Problem('SHUTTING_DOWN')
    await adapter.handleUpgrade(request, socket, head, socketRequest(request, { admission, socket }))
  }

  return {
    handleUpgrade: (request, socket, head) => {
      if (request.headers.upgrade?.toLowerCase() !== 'websocket') return declineUpgrade(request, socket, head)
      socket.on('error', () => {
        /* The client has disconnected. 'close' follows. */
      })
      upgrade(request, socket, head).catch((error: unknown) => {
        if (!(error instanceof Problem)) logFailure(log, 'A socket could not be opened.', error)
        refuseConnection(socket, error instanceof Problem ? error : new Problem('INTERNAL'))
      })
    },
    close: async (code = closeCodes.goingAway) => {
      if (closing) return
      closing = true
      stopHearing()
      watch.stop()
      sessions.endAll(code)
      for (const giveUpAt = performance.now() + closeTimeoutMs; sessions.size > 0 && performance.now() < giveUpAt;)
        await delay(20)
      adapter.closeAll(undefined, undefined, true)
      await adapter.close()
    },
    count: () => sessions.size,
  }
}

/** The request for crossws, without anything that holds a token. */
const socketRequest = (request: IncomingMessage, context: { admission: Admission; socket: Duplex }): Request =>
  Object.assign(
    new Request('http://board/api/ws', { headers: offersBoard(request) ? { [protocolHeader]: subprotocol } : {} }),
    { context },
  )

/** Observes the lag from an event's commit to its sockets. */
function lagObserver({ metrics, config }: Pick<App, 'metrics' | 'config'>): (at: string) => void {
  const lag = metrics.timing({
    name: 'board_event_lag_seconds',
    help: 'Delay between the write of the first event of a page and its delivery to sockets.',
  })
  return at => lag.observe((config.clock().getTime() - Date.parse(at)) / 1000)
}

function createAdapter(sessions: SocketSessions): NodeAdapter {
  /** Catches exceptions in a hook, which would otherwise end the process. */
  const safely =
    <Rest extends unknown[]>(hook: (peer: Peer, ...rest: Rest) => void) =>
    (peer: Peer, ...rest: Rest) => {
      try {
        hook(peer, ...rest)
      } catch (error) {
        sessions.fail(peer, error)
      }
    }
  return nodeAdapter({
    getNamespace: () => 'board',
    idleTimeout: heartbeatSecs,
    // Other offered protocols hold a token.
    handleProtocols: offered => offered.has(subprotocol) && subprotocol,
    serverOptions: { maxPayload: maxMessageBytes, perMessageDeflate: false, clientTracking: false },
    hooks: {
      open: safely(peer => sessions.open(peer, peer.context.socket as Duplex, peer.context.admission as Admission)),
      message: safely((peer, message) => sessions.receive(peer, message.rawData)),
      ping: safely(peer => sessions.ping(peer)),
      drain: safely(peer => sessions.drain(peer)),
      error: safely(peer => sessions.drop(peer)),
      close: safely(peer => sessions.close(peer)),
    },
  })
}

const isOf = (caller: Caller, ended: Exclude<Ended, { rightsOf: unknown }>) => {
  if ('tokenHash' in ended) return caller.tokenHash === ended.tokenHash
  if ('keyId' in ended) return caller.key?.id === ended.keyId
  return 'userId' in ended
    ? caller.userId === ended.userId
    : caller.kind === 'user' && caller.userId === ended.signInsOf
}
