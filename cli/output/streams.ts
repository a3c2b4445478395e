import { Writable, type Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isatty } from 'node:tty'

/** Returns whether stdin (0), stdout (1) or stderr (2) is a terminal. Does not create the stream, which takes milliseconds. */
export const isTerminal = (descriptor: 0 | 1 | 2): boolean => isatty(descriptor)

export function write(data: string | Uint8Array): void {
  stdout().write(data)
}

/** Writes a stream to stdout. Errors of stdout end the stream and are handled by `stdout`. */
export async function writeStream(source: Readable, ...transforms: Transform[]): Promise<void> {
  try {
    // A pipeline into stdout itself would leave its listeners there.
    await pipeline([
      source,
      ...transforms,
      new Writable({ write: (chunk: Uint8Array, _, done) => void stdout().write(chunk, done) }),
    ])
  } catch (error) {
    if (!isStdoutBroken()) throw error
  }
}

/** Returns whether stdout is closed, for example because its reader has exited. */
export const isStdoutBroken = (): boolean => isBroken

/** Writes a message to stderr. */
export function writeStderr(text: string): void {
  stderr().write(text)
}

/** Returns stdout. A closed pipe (`| head`) is not an error. */
export function stdout(): typeof process.stdout {
  if (!watched) {
    watched = true
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      isBroken = true
      if (error.code === 'EPIPE') return
      process.exitCode = 1
      writeStderr(`board: cannot write to stdout: ${error.code}\n`)
    })
  }
  return process.stdout
}

let watched = false
let isBroken = false
let isStderrWatched = false

function stderr(): typeof process.stderr {
  if (!isStderrWatched)
    process.stderr.on('error', () => {
      /* Without stderr, the error cannot be reported. */
    })
  isStderrWatched = true
  return process.stderr
}
