import { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

const fromSandboxes = new WeakSet<Socket>()

/** Marks a connection from a sandbox, in whose network addresses and ports have a different meaning. */
export const markFromSandbox = (socket: Socket): void => void fromSandboxes.add(socket)

/** Whether a connection, or the one below its TLS, comes from a sandbox. */
export function isFromSandbox(socket: Socket): boolean {
  if ((socket as Partial<TLSSocket>).encrypted !== true) return fromSandboxes.has(socket)
  // Node sets this field for a server's connections. Without it, the origin is unknown.
  const { _parent: below } = socket as { _parent?: unknown }
  return !(below instanceof Socket) || fromSandboxes.has(below)
}
