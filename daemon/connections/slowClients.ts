import type { IncomingMessage, Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { Problem } from '../../src/contract/errors.ts'
import type { Listener } from '../limits/drainGate.ts'
import { refuseConnection } from './refuseConnection.ts'

/** The timeout of a request's head, and of the part of a body that the server no longer reads. */
const timeoutMs = 10_000
/** The time for which a closing connection is still read, so that the client receives the response. */
const lingerMs = 2000
const sweepMs = 1000

/**
 * The state of a connection. Without `lateAtMs` a request is being processed, or the connection is idle. `last` is its latest request with
 * an incomplete body. `bytesBefore` is the number of bytes read when that request was answered.
 */
interface TrackedConnection {
  underWay: number
  lateAtMs: number | undefined
  last: IncomingMessage | undefined
  bytesBefore: number
  isClosing: boolean
}

/**
 * Ends connections of slow clients. Node has no timeout for a body that is not read, and checks heads only every 30 s.
 */
export interface ConnectionTimeouts {
  listen: Listener
  /** Applies the timeouts to this server, whose requests go to `listen`. */
  watch(server: Server): void
  /** Ends connections in their TLS handshake, which the server's own close does not include. */
  closeHandshakes(): void
}

export function createConnectionTimeouts(answer: Listener): ConnectionTimeouts {
  const connections = new Map<Socket, TrackedConnection>()
  const handshakes = new Map<string, Socket>()
  return {
    listen: (request, response) => {
      const connection = connections.get(request.socket)
      // Requests pipelined behind an answer with "connection: close" are not processed.
      if (connection?.isClosing) return void request.socket.destroy()
      if (connection) begin(connection, request)
      response.once('close', () => {
        if (connection) end(connection, request)
      })
      answer(request, response)
    },
    watch: server => {
      const isTls = isHttps(server)
      if (isTls) watchHandshakes(server, handshakes)
      server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
        const connection: TrackedConnection = {
          underWay: 0,
          lateAtMs: performance.now() + timeoutMs,
          last: undefined,
          bytesBefore: socket.bytesRead,
          isClosing: false,
        }
        connections.set(socket, connection)
        lingerOnClose(socket, connection)
        socket.once('close', () => connections.delete(socket))
      })
      server.on('upgrade', ({ socket }) => connections.delete(socket))
      const timer = setInterval(() => {
        for (const [socket, connection] of connections) {
          if (!isLate(socket, connection)) continue
          if (hasBegun(socket, connection)) refuseConnection(socket, new Problem('REQUEST_TIMEOUT'))
          else socket.destroy()
        }
      }, sweepMs).unref()
      server.once('close', () => clearInterval(timer))
    },
    closeHandshakes: () => {
      for (const socket of handshakes.values()) socket.destroy()
    },
  }
}

/** Detects HTTPS without `node:https`, which would slow down a start. */
const isHttps = (server: Server | HttpsServer): server is HttpsServer => 'setSecureContext' in server

/** Limits the time of TLS handshakes, for which Node allows two minutes. */
function watchHandshakes(server: HttpsServer, handshakes: Map<string, Socket>): void {
  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket)
    handshakes.set(name, socket)
    const late = setTimeout(() => {
      if (handshakes.get(name) === socket) socket.destroy()
    }, timeoutMs).unref()
    socket.once('close', () => {
      clearTimeout(late)
      if (handshakes.get(name) === socket) handshakes.delete(name)
    })
  })
  server.on('secureConnection', (socket: Socket) => handshakes.delete(nameOf(socket)))
}

function begin(connection: TrackedConnection, request: IncomingMessage): void {
  connection.underWay++
  connection.lateAtMs = undefined
  connection.last = request
}

function end(connection: TrackedConnection, request: IncomingMessage): void {
  connection.underWay--
  if (connection.last === request)
    connection.lateAtMs = performance.now() + (connection.isClosing ? lingerMs : timeoutMs)
}

/**
 * Node closes a connection right after the last answer. If the client is still sending, its TCP stack sees a reset and
 * discards the answer.
 */
function lingerOnClose(socket: Socket, connection: TrackedConnection): void {
  const destroySoon = socket.destroySoon.bind(socket)
  socket.destroySoon = () => {
    connection.isClosing = true
    if (connection.last?.complete === false) socket.end()
    else destroySoon()
  }
}

/** Whether an incomplete head is pending. */
const hasBegun = (socket: Socket, { last, isClosing, bytesBefore }: TrackedConnection) =>
  !last && !isClosing && socket.bytesRead > bytesBefore && socket.writable

function isLate(socket: Socket, connection: TrackedConnection): boolean {
  if (connection.underWay > 0) return false
  if (connection.last?.complete && !connection.isClosing)
    Object.assign(connection, { last: undefined, lateAtMs: undefined, bytesBefore: socket.bytesRead })
  // The first bytes of the next request's head have arrived.
  if (!connection.last && socket.bytesRead > connection.bytesBefore)
    connection.lateAtMs ??= performance.now() + timeoutMs
  return connection.lateAtMs !== undefined && performance.now() > connection.lateAtMs
}
