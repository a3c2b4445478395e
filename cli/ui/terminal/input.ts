import { openSync } from 'node:fs'
import type { SocketConstructorOpts } from 'node:net'
import { ReadStream } from 'node:tty'

const maxReadBytes = 65_536

/**
 * Opens the terminal's input. No byte is read before its turn: the keys behind one that opens a program stay in the terminal,
 * for that program.
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
 * Opens the terminal again. A program that inherits descriptor 0 turns reads into blocking ones: one that follows a full read
 * would block the process. Undefined if the terminal belongs to another account, as after su.
 */
function ownDescriptor(): number | undefined {
  try {
    return openSync('/dev/fd/0', 'r')
  } catch {
    return undefined
  }
}
