import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Send } from '../send.ts'

/**
 * Sends a file of a folder: a plain file, without following a link.
 * @returns why the file cannot be used, or null
 */
export async function readFolderFile(
  topLevel: string,
  { path, maxBytes }: { path: string; maxBytes: number },
  send: Send,
): Promise<string | null> {
  try {
    await send(await readPlainFile(join(topLevel, path), maxBytes))
    return null
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined) return message
    return code === 'ELOOP' ? 'it is a link' : `it cannot be read (${code})`
  }
}

/**
 * Reads a plain file without following a link.
 * @throws Error without a code if it is not a plain file or is larger than `maxBytes`; the file system's error otherwise
 */
export async function readPlainFile(path: string, maxBytes: number): Promise<Buffer> {
  // Without NONBLOCK, opening a pipe would wait for its writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is not a file')
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0)
    if (bytesRead > maxBytes) throw new Error(`it is larger than ${maxBytes / 1024} KiB`)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
