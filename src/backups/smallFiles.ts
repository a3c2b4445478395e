import { closeSync, constants, openSync, readSync } from 'node:fs'

/** Files up to this size are held in memory, and read and written without the thread pool, which would take ten times as long. */
export const wholeBytes = 256 * 1024

/**
 * Reads a plain file of an expected size into memory. The target needs space for one more byte.
 * @returns whether the size matches. Also false if the file is missing or is a link
 */
export function readExactly(path: string, target: Buffer, at: number, size: number): boolean {
  const descriptor = openPlain(path)
  if (descriptor === undefined) return false
  try {
    let [done, read] = [0, 0]
    do done += read = readSync(descriptor, target, at + done, size + 1 - done, null)
    while (read > 0 && done < size)
    return done === size
  } finally {
    closeSync(descriptor)
  }
}

/** Opens a file for reading. Undefined if it is missing or a link. */
export function openPlain(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (['ENOENT', 'ELOOP'].includes((error as NodeJS.ErrnoException).code!)) return undefined
    throw error
  }
}
