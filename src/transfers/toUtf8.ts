import { isUtf8 } from 'node:buffer'
import { createReadStream, createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { importError } from './importErrors.ts'

const utf32 = /^(?:fffe0000|0000feff|(?!00)..000000|000000(?!00)..)/
const utf16le = /^(?:fffe|(?!00)..00)/
const utf16be = /^(?:feff|00(?!00)..)/

/**
 * Checks that a file is text, and returns the path of its UTF-8 version. A UTF-16 file, such as the output of Windows
 * PowerShell, is converted to the file `converted`.
 * @throws Problem INVALID_IMPORT if it is neither
 */
export async function toUtf8(path: string, converted: string, signal: AbortSignal): Promise<string> {
  const start = await hexOfStart(path)
  if (utf32.test(start)) throw importError('', 'the file is UTF-32: save it as UTF-8')
  const encoding = utf16le.test(start) ? 'utf-16le' : utf16be.test(start) ? 'utf-16be' : undefined
  if (encoding === undefined) {
    await requireUtf8(path, signal)
    return path
  }
  await pipeline(createReadStream(path), decoder(encoding), createWriteStream(converted, { mode: 0o600 }), { signal })
  return converted
}

async function hexOfStart(path: string): Promise<string> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
    return buffer.toString('hex', 0, bytesRead)
  } finally {
    await file.close()
  }
}

const decoder = (encoding: string) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
    const decode = new TextDecoder(encoding, { fatal: true })
    try {
      for await (const chunk of chunks) yield decode.decode(chunk, { stream: true })
      yield decode.decode()
    } catch (error) {
      if (error instanceof TypeError)
        throw importError('', `the file is not valid ${encoding.toUpperCase()}: save it as UTF-8`)
      throw error
    }
  }

async function requireUtf8(path: string, signal: AbortSignal): Promise<void> {
  let line = 1
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const end = bytes.length - cutOff(bytes)
    if (!isUtf8(bytes.subarray(0, end))) throw notUtf8(line + brokenLine(bytes))
    line += countLines(bytes, end)
    rest = bytes.subarray(end)
  }
  if (rest.length > 0) throw notUtf8(line)
}

const notUtf8 = (line: number) =>
  importError('', `line ${line} of the file is not UTF-8: save the file as UTF-8, for example with iconv`)

/** The number of bytes at the end that are an incomplete character, which continues in the next chunk. */
function cutOff(bytes: Buffer): number {
  for (let length = 1; length <= 3 && length <= bytes.length; length++) {
    const byte = bytes[bytes.length - length]!
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return length < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? length : 0
  }
  return 0
}

const newline = 0x0a

function countLines(bytes: Buffer, end: number): number {
  let lines = 0
  for (let at = bytes.indexOf(newline); at !== -1 && at < end; at = bytes.indexOf(newline, at + 1)) lines++
  return lines
}

/** The number of lines before the first line that is not UTF-8. */
function brokenLine(bytes: Buffer): number {
  let [lines, from] = [0, 0]
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, from)) {
    if (!isUtf8(bytes.subarray(from, at))) break
    lines++
    from = at + 1
  }
  return lines
}
