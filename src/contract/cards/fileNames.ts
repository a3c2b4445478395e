/*
 * Names of files are bytes, which Git does not change. Here, a name is a text in which a lone surrogate, U+DC80 to U+DCFF, stands for
 * each byte that is not part of valid UTF-8, as in PEP 383. Nothing is lost, and no other file can have the same text.
 */

const bytesOfLongest = 4
const firstSurrogate = 0xdc00
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function decodeName(bytes: Uint8Array): string {
  const whole = decodeUtf8(bytes)
  if (whole !== undefined) return whole
  const parts: string[] = []
  for (let at = 0; at < bytes.length;) {
    const [character, length] = characterAt(bytes, at)
    parts.push(character)
    at += length
  }
  return parts.join('')
}

function characterAt(bytes: Uint8Array, at: number): [character: string, length: number] {
  for (let length = 1; length <= Math.min(bytesOfLongest, bytes.length - at); length++) {
    const character = decodeUtf8(bytes.subarray(at, at + length))
    if (character !== undefined) return [character, length]
  }
  return [String.fromCharCode(firstSurrogate + bytes[at]!), 1]
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

export function encodeName(name: string): Uint8Array {
  const encoder = new TextEncoder()
  return Uint8Array.from(
    Array.from(name, character =>
      isEscape(character) ? [character.charCodeAt(0) - firstSurrogate] : [...encoder.encode(character)],
    ).flat(),
  )
}

const isEscape = (character: string): boolean => /^[\udc80-\udcff]$/u.test(character)

/** The name as people read it. Bytes that are not UTF-8 are in octal, as Git shows them: `m\374ller.txt`. */
export const shownName = (name: string): string =>
  name.replace(/[\udc80-\udcff]/gu, escape => `\\${(escape.charCodeAt(0) - firstSurrogate).toString(8)}`)
