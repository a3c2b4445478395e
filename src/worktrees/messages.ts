import type { Readable } from 'node:stream'

/**
 * A message between the server and the process of a worktree: a line of JSON, and the bytes that follow it. The line
 * states their number.
 */
export interface Message {
  head: Readonly<Record<string, unknown>>
  bytes: Buffer
}

const maxHeadBytes = 16 * 1024 * 1024
const maxBytes = 512 * 1024 * 1024
const newline = 10

/** Encodes a message as the chunks to write. */
export function encodeMessage(head: object, bytes: Buffer = Buffer.alloc(0)): Buffer[] {
  const line = Buffer.from(`${JSON.stringify({ ...head, bytes: bytes.length })}\n`)
  return bytes.length === 0 ? [line] : [line, bytes]
}

/**
 * Reads messages to the end of a stream.
 * @throws Error if a message exceeds the limits, is not JSON, or is cut off
 */
export async function* readMessages(input: Readable): AsyncGenerator<Message> {
  const chunks: Buffer[] = []
  let length = 0
  let awaited: { head: Message['head']; size: number } | undefined
  const take = (size: number): Buffer => {
    const all = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length)
    chunks.length = 0
    length -= size
    if (length > 0) chunks.push(all.subarray(size))
    return all.subarray(0, size)
  }
  /** The next message, if all of it has arrived. */
  const next = (): Message | undefined => {
    if (!awaited) {
      const before = chunks.slice(0, -1).reduce((sum, chunk) => sum + chunk.length, 0)
      const end = chunks.at(-1)?.indexOf(newline) ?? -1
      if (end < 0 && length > maxHeadBytes) throw new Error('A message is too long.')
      if (end < 0) return undefined
      awaited = parseHead(take(before + end + 1))
    }
    if (length < awaited.size) return undefined
    const message = { head: awaited.head, bytes: awaited.size === 0 ? Buffer.alloc(0) : take(awaited.size) }
    awaited = undefined
    return message
  }
  for await (const chunk of input as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    for (let message = next(); message; message = next()) yield message
  }
  if (awaited || length > 0) throw new Error('A message was cut off.')
}

function parseHead(line: Buffer): { head: Message['head']; size: number } {
  const head = JSON.parse(line.toString()) as unknown
  if (typeof head !== 'object' || head === null) throw new Error('A message is not an object.')
  const { bytes: size, ...rest } = head as Record<string, unknown>
  if (!Number.isSafeInteger(size) || (size as number) < 0 || (size as number) > maxBytes)
    throw new Error('A message has no valid number of bytes.')
  return { head: rest, size: size as number }
}
