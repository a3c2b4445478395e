import { mouseOf, type Mouse } from './mouse.ts'

/** A key by its name in shortcuts: `a`, `G`, `left`, `ctrl+d`. `text` is its typed or pasted text. */
export interface Key {
  name: string
  text?: string
  /** Set instead of a key for a mouse event. */
  mouse?: Mouse
}

const named: Record<string, string> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\b': 'backspace',
  ' ': 'space',
  ',': 'comma',
}
/**
 * The final characters of sequences that start with ESC [ or ESC O. `focus` is not a key: the terminal regained the
 * focus.
 */
const finals: Record<string, string> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  I: 'focus',
  Z: 'shift+tab',
  P: 'f1',
  Q: 'f2',
  R: 'f3',
  S: 'f4',
}
const tildes: Record<string, string> = {
  1: 'home',
  2: 'insert',
  3: 'delete',
  4: 'end',
  5: 'pageup',
  6: 'pagedown',
  7: 'home',
  8: 'end',
  11: 'f1',
  12: 'f2',
  13: 'f3',
  14: 'f4',
  15: 'f5',
  17: 'f6',
  18: 'f7',
  19: 'f8',
  20: 'f9',
  21: 'f10',
  23: 'f11',
  24: 'f12',
}
const pasteBegin = '\u001b[200~'
const pasteEnd = '\u001b[201~'
const maxPasteLength = 1_000_000

/** Decodes the terminal's input. Fast keys arrive in one chunk, slow sequences in several. */
export interface Decoder {
  /** The keys completed by a chunk. */
  push(piece: string): Key[]
  /** The number of bytes to read next, so that no byte after a key or a paste is read. */
  readonly wantedBytes: number
  /** Whether an incomplete sequence might be buffered. */
  readonly pending: boolean
  /** Called after a timeout: a lone ESC is the key. */
  flush(): Key[]
}

export function createDecoder(): Decoder {
  let rest = ''
  let paste: Paste | undefined
  const take = (final: boolean): Key[] => {
    const keys: Key[] = []
    for (;;) {
      if (rest.startsWith(pasteBegin)) {
        paste = openPaste()
        rest = rest.slice(pasteBegin.length)
      }
      const next = paste ? paste.push(rest) : first(rest, final)
      if (!next) break
      paste = undefined
      rest = rest.slice(next.length)
      if (next.key) keys.push(next.key)
    }
    if (paste) rest = ''
    return keys
  }
  return {
    push: piece => {
      // Ctrl-C also ends a paste without an end.
      if (piece === '\u0003') paste = undefined
      rest = piece === '\u0003' ? piece : rest + piece
      return take(false)
    },
    get pending() {
      return rest !== ''
    },
    get wantedBytes() {
      return paste?.wantedBytes ?? 1
    },
    flush: () => take(true),
  }
}

interface Paste {
  /** Adds a piece. Undefined until the paste has its end. A paste that is too long has no key. */
  push(piece: string): Taken | undefined
  readonly wantedBytes: number
}

function openPaste(): Paste {
  const pieces: string[] = []
  let length = 0
  let tail = ''
  return {
    push: piece => {
      const before = tail
      const end = (before + piece).indexOf(pasteEnd)
      if (end < 0) {
        length += piece.length
        if (length <= maxPasteLength) pieces.push(piece)
        tail = (before + piece).slice(1 - pasteEnd.length)
        return undefined
      }
      const taken = end + pasteEnd.length - before.length
      const text = (pieces.join('') + piece.slice(0, taken)).slice(0, -pasteEnd.length)
      return { length: taken, ...(length <= maxPasteLength && { key: { name: 'paste', text } }) }
    },
    get wantedBytes() {
      let begun = Math.min(tail.length, pasteEnd.length - 1)
      while (!pasteEnd.startsWith(tail.slice(tail.length - begun))) begun--
      return pasteEnd.length - begun
    },
  }
}

interface Taken {
  key?: Key
  length: number
}

/** The first key of the buffer; undefined while it is incomplete. */
function first(text: string, final: boolean): Taken | undefined {
  if (text === '') return undefined
  if (text[0] !== '\u001b') return decodeCharacter(text)
  const sequence = /^\u001b(?:\[([\d;:<=>?]*)[ -/]*([@-~])|O([ -~]))/.exec(text)
  if (sequence)
    return {
      key: sequence[3] === 'M' ? { name: 'enter' } : fromSequence(sequence[1] ?? '', sequence[2] ?? sequence[3]!),
      length: sequence[0].length,
    }
  if (!final && /^\u001b(?:\[[\d;:<=>?]*[ -/]*|O)?$/.test(text)) return undefined
  if (text.length > 1 && text[1] !== '\u001b' && !/^\u001b[[O]/.test(text)) {
    const { key, length } = decodeCharacter(text.slice(1))
    return { key: key && { name: `alt+${key.name}` }, length: length + 1 }
  }
  return { key: { name: 'escape' }, length: 1 }
}

function decodeCharacter(text: string): Taken {
  const character = String.fromCodePoint(text.codePointAt(0)!)
  const code = character.codePointAt(0)!
  if (Object.hasOwn(named, character))
    return { key: { name: named[character]!, ...(code >= 32 && code < 127 && { text: character }) }, length: 1 }
  if (code < 32) return { key: { name: `ctrl+${String.fromCharCode(code + 96)}` }, length: 1 }
  return { key: { name: character, text: character }, length: character.length }
}

/** The second parameter holds the modifiers: 1 plus shift 1, alt 2, ctrl 4. Reports of the terminal are not keys. */
function fromSequence(parameters: string, final: string): Key | undefined {
  const mouse = mouseOf(parameters, final)
  if (mouse) return { name: 'mouse', mouse }
  if (/^[<=>?]/.test(parameters)) return undefined
  const [number = '', modifier = '1'] = parameters.split(';')
  const base = final === '~' ? tildes[number] : final === 'u' ? fromCode(Number(number)) : finals[final]
  if (base === undefined) return undefined
  const bits = (Number(modifier) || 1) - 1
  return { name: `${bits & 4 ? 'ctrl+' : ''}${bits & 2 ? 'alt+' : ''}${bits & 1 ? 'shift+' : ''}${base}` }
}

const fromCode = (code: number): string | undefined =>
  code > 0 && code < 0x110000
    ? (named[String.fromCodePoint(code)] ?? (code === 27 ? 'escape' : String.fromCodePoint(code)))
    : undefined
