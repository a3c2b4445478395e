import { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

const fromSandboxes = new WeakSet<Socket>()

/** Notes that a connection comes out of a sandbox: in its network it has addresses and ports that mean something else outside. */
export const markFromSandbox = (socket: Socket): void => void fromSandboxes.add(socket)

/** Whether a connection, or the one below its TLS, comes out of a sandbox. */
export function isFromSandbox(socket: Socket): boolean {
  if ((socket as Partial<TLSSocket>).encrypted !== true) return fromSandboxes.has(socket)
  // Node keeps it for a server's connections. Without it nobody could tell.
  const { _parent: below } = socket as { _parent?: unknown }
  return !(below instanceof Socket) || fromSandboxes.has(below)
}
