import { isUtf8 } from 'node:buffer'
import { realpath } from 'node:fs/promises'
import { decodeName, encodeName } from '../contract/cards/fileNames.ts'

/** Splits a NUL-separated list of names, or of other fields. */
export function nulSeparated(output: Buffer): string[] {
  if (isUtf8(output)) return output.toString().split('\0').slice(0, -1)
  const names: string[] = []
  for (let from = 0, to = output.indexOf(0); to >= 0; from = to + 1, to = output.indexOf(0, from))
    names.push(decodeName(output.subarray(from, to)))
  return names
}

/** Encodes names as the input of Git: each with a NUL at its end. */
export const nulTerminated = (names: readonly string[]): string | Buffer =>
  filePath(names.map(name => `${name}\0`).join(''))

/** Encodes a path for the file system, because Node would replace bytes that are not UTF-8. */
export const filePath = (path: string): string | Buffer => (path.isWellFormed() ? path : Buffer.from(encodeName(path)))

/** Resolves the links of a path. @throws the file system's error */
export const realName = async (path: string): Promise<string> => decodeName(await realpath(filePath(path), 'buffer'))
