import { openSync } from 'node:fs'
import type { SocketConstructorOpts } from 'node:net'
import { ReadStream } from 'node:tty'

const maxReadBytes = 65_536

/**
 * Opens the terminal's input. Reads only as many bytes as wanted, because keys that follow one that opens a program must stay in
 * the terminal for that program.
 */
export function openInput(wantedBytes: () => number, onBytes: (bytes: Buffer) => void): ReadStream {
  const descriptor = ownDescriptor()
  const onread = {
    buffer: () => Buffer.allocUnsafe(descriptor === undefined ? maxReadBytes : wantedBytes()),
    callback: (size: number, buffer: Uint8Array) => {
      onBytes(Buffer.from(buffer.subarray(0, size)))
      return true
    },
  }
  return new ReadStream(descriptor ?? 0, { onread } as SocketConstructorOpts)
}

/**
 * Opens the terminal a second time. A program that inherits descriptor 0 turns off its nonblocking mode, and a read after a full one
 * would block this process. Returns undefined if the terminal belongs to another account, as after su.
 */
function ownDescriptor(): number | undefined {
  try {
    return openSync('/dev/fd/0', 'r')
  } catch {
    return undefined
  }
}
