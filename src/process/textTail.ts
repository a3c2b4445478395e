/** The tail of a growing text. */
export interface TextTail {
  add(text: string): void
  /** At most the tail's size in bytes of UTF-8, in whole characters, and the number of UTF-16 units before it. */
  read(): { output: string; outputStart: number }
}

export function createTextTail(maxBytes: number): TextTail {
  let pieces: string[] = []
  let length = 0
  let start = 0
  const trim = () => {
    const text = pieces.join('')
    const bytes = Buffer.from(text)
    let from = Math.max(0, bytes.length - maxBytes)
    while (isInsideCharacter(bytes[from])) from++
    const kept = from === 0 ? text : bytes.toString('utf8', from)
    start += text.length - kept.length
    length = kept.length
    pieces = [kept]
    return kept
  }
  return {
    add: text => {
      pieces.push(text)
      length += text.length
      if (length > 2 * maxBytes || pieces.length > 1000) trim()
    },
    read: () => {
      const output = trim()
      return { output, outputStart: start }
    },
  }
}

const isInsideCharacter = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80
