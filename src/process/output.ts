import type { Readable } from 'node:stream'

/** The end of an output. */
export interface Tail {
  add(bytes: Buffer): void
  /** At most the tail's size in bytes, in whole characters. */
  text(): string
}

/** Keeps the last `maxBytes` that were added. */
export function createTail(maxBytes: number): Tail {
  let chunks: Buffer[] = []
  let size = 0
  const compact = () => {
    const kept = Buffer.concat(chunks).subarray(-maxBytes)
    chunks = [Buffer.from(kept)]
    size = kept.length
  }
  return {
    add: bytes => {
      chunks.push(Buffer.from(bytes.subarray(-maxBytes)))
      size += Math.min(bytes.length, maxBytes)
      if (size > 2 * maxBytes || chunks.length > 1000) compact()
    },
    text: () => {
      compact()
      return wholeCharacters(chunks[0]!)
    },
  }
}

/** Reads a stream to its end, so that the writer never blocks on a full pipe, and keeps its tail. */
export function tailOf(stream: Readable, maxBytes: number): Tail {
  const tail = createTail(maxBytes)
  stream.on('data', tail.add)
  return tail
}

/** Decodes UTF-8 without incomplete characters at both ends; invalid bytes become U+FFFD. */
function wholeCharacters(bytes: Buffer): string {
  let start = 0
  while (start < 3 && start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(start), { stream: true })
}

/** A line without its line ending. `isCut`: only its first bytes were kept. */
export interface Line {
  text: string
  isCut: boolean
}

/**
 * The lines of a stream, read as fast as the caller takes them. Longer lines are cut to `maxLineBytes`. The last line needs no line ending.
 */
export async function* linesOf(stream: Readable, maxLineBytes: number): AsyncGenerator<Line> {
  let kept: Buffer[] = []
  let size = 0
  let isCut = false
  const keepBytes = (bytes: Buffer) => {
    const fitting = bytes.subarray(0, maxLineBytes - size)
    isCut ||= fitting.length < bytes.length
    if (fitting.length === 0) return
    kept.push(Buffer.from(fitting))
    size += fitting.length
    if (kept.length > 1000) kept = [Buffer.concat(kept)]
  }
  const takeLine = (): Line => {
    const line = { text: wholeCharacters(Buffer.concat(kept)).replace(/\r$/, ''), isCut }
    kept = []
    size = 0
    isCut = false
    return line
  }
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; from = end + 1, end = chunk.indexOf(10, from)) {
      keepBytes(chunk.subarray(from, end))
      yield takeLine()
    }
    keepBytes(chunk.subarray(from))
  }
  if (size > 0 || isCut) yield takeLine()
}
