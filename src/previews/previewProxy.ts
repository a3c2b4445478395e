import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { connect as connectTo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../async/clock.ts'
import { loopback } from '../cardWork/cardPorts.ts'
import { forwardRequest, forwardUpgrade } from '../sandbox/network/forwardRequest.ts'
import { PreviewGate, removePreviewCookies, type Admission, type CanOpen, type PreviewSession } from './previewGate.ts'

const maxConnections = 128
const connectTimeoutMs = 2000
const recheckMs = 1000

/** Connects to the port at this index of a preview's program. @throws Error if nothing listens there */
export type ConnectToProgram = (index: number) => Promise<Socket>

/** A preview's server on loopback, in front of its program. */
export interface PreviewProxy {
  /** Whether the program accepts connections at its first port. */
  isReached(): Promise<boolean>
  /** The address that opens the preview once. */
  issueTicket(canOpen: CanOpen): { url: string; expiresAt: string }
  close(): void
}

interface ProxyOptions {
  cardId: number
  ports: readonly number[]
  connect: ConnectToProgram
  uidOf(socket: Socket): Promise<number | undefined>
  clock: Clock
  onError(error: unknown): void
}

/** The address of a preview. An IP address, because the name localhost could lead to another account's server on `::1`. */
export const previewUrl = (port: number): string => `http://${loopback[0]}:${port}`

/** Connects to a program on the machine's own network. */
export const connectToLoopback =
  (port: number): ConnectToProgram =>
  async () => {
    const [first, second] = loopback
    return openConnection(first, port).catch(() => openConnection(second, port))
  }

/**
 * Listens on loopback in front of a preview's program.
 * @throws NodeJS.ErrnoException EADDRINUSE
 */
export async function openPreviewProxy(options: ProxyOptions): Promise<PreviewProxy> {
  const { ports, cardId, connect, uidOf, clock, onError } = options
  const gate = new PreviewGate({ host: loopback[0], ports, cardId, uidOf })
  const servers: Server[] = []
  const upgraded = new Set<Duplex>()
  const timer = setInterval(() => void gate.recheck(), recheckMs).unref()
  const close = () => {
    clearInterval(timer)
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
    for (const socket of upgraded) socket.destroy()
  }
  try {
    for (const [index, port] of ports.entries()) {
      const proxy = { admit: (request: IncomingMessage) => gate.admit(request, port, clock()), connect, index, port }
      const server = createServer(
        (request, response) =>
          void answerRequest(proxy, request, response).catch((error: unknown) => {
            onError(error)
            refuse(response, 503, 'The preview cannot be read.')
          }),
      )
      server.on('upgrade', (request, socket, head) => {
        upgraded.add(socket)
        socket.once('close', () => upgraded.delete(socket)).on('error', () => socket.destroy())
        void answerUpgrade(proxy, request, socket, head).catch((error: unknown) => {
          onError(error)
          socket.destroy()
        })
      })
      server.maxConnections = maxConnections
      servers.push(server)
      await listen(server, port)
    }
  } catch (error) {
    close()
    throw error
  }
  return {
    isReached: () =>
      connect(0).then(
        socket => {
          socket.on('error', () => {}).destroy()
          return true
        },
        () => false,
      ),
    issueTicket: canOpen => gate.issue(canOpen, clock()),
    close,
  }
}

interface PortProxy {
  admit(request: IncomingMessage): Promise<Admission>
  connect: ConnectToProgram
  index: number
  port: number
}

async function answerRequest(proxy: PortProxy, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const admission = await proxy.admit(request)
  if ('refusal' in admission) return refuse(response, 403, admission.refusal)
  if ('location' in admission) return redirect(response, admission)
  const upstream = await connectForSession(proxy, admission.session, response)
  if (!upstream) return refuse(response, 502, "The preview's program does not accept connections.")
  removePreviewCookies(request)
  forwardRequest(request, response, forwardingTo(proxy, upstream))
}

async function answerUpgrade(proxy: PortProxy, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  const admission = await proxy.admit(request)
  const upstream = 'session' in admission ? await connectForSession(proxy, admission.session, socket) : undefined
  if (!upstream) {
    const status = 'session' in admission ? '502 Bad Gateway' : '403 Forbidden'
    return void socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  }
  removePreviewCookies(request)
  forwardUpgrade(request, socket, head, forwardingTo(proxy, upstream))
}

/** Connects to the program. The client's connection closes when the session ends. Undefined if the program does not accept connections. */
async function connectForSession(
  { connect, index }: PortProxy,
  { open }: PreviewSession,
  client: Duplex | ServerResponse,
): Promise<Socket | undefined> {
  open.add(client)
  client.once('close', () => open.delete(client))
  const upstream = await connect(index).catch(() => undefined)
  if (client.destroyed) upstream?.destroy()
  return upstream
}

/** Without an idle timeout, because a program that compiles or an event stream can be silent for long. */
const forwardingTo = ({ port }: PortProxy, upstream: Socket) => ({
  upstream,
  target: { host: loopback[0], port },
  idleMs: 0,
})

const safeHeaders = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { ...safeHeaders, 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
  response.end(`${message}\n`)
}

function redirect(response: ServerResponse, { location, cookie }: { location: string; cookie?: string }): void {
  response.writeHead(303, { ...safeHeaders, location, ...(cookie !== undefined && { 'set-cookie': cookie }) })
  response.end()
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: loopback[0], port }, () => {
      server.off('error', reject).on('error', () => {
        /* A failure to accept one connection does not affect later ones. */
      })
      resolve()
    })
  })

const openConnection = (host: string, port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connectTo({ host, port, timeout: connectTimeoutMs })
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    socket
      .once('error', fail)
      .once('timeout', () => fail(new Error('The connection timed out.')))
      .once('connect', () => resolve(socket.off('error', fail).setTimeout(0)))
  })
