import { isatty } from 'node:tty'

/** Whether the terminal stands behind stdin (0), stdout (1) or stderr (2). It does not make the stream, which takes milliseconds. */
export const isTerminal = (descriptor: 0 | 1 | 2): boolean => isatty(descriptor)

/** Writes data to stdout. */
export function write(data: string | Uint8Array): void {
  stdout().write(data)
}

/** Writes talk to stderr. */
export function talk(text: string): void {
  stderr().write(text)
}

/** stdout, of which a reader that has seen enough (`| head`) is no error. */
export function stdout(): typeof process.stdout {
  if (!watched) {
    watched = true
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return
      process.exitCode = 1
      talk(`board: stdout cannot be written: ${error.code}\n`)
    })
  }
  return process.stdout
}

let watched = false
let watchedTalk = false

function stderr(): typeof process.stderr {
  if (!watchedTalk)
    process.stderr.on('error', () => {
      /* Nobody can be told. */
    })
  watchedTalk = true
  return process.stderr
}
