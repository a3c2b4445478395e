import { mouseOf, type Mouse } from './mouse.ts'

/** One key as the shortcuts name it: `a`, `G`, `left`, `ctrl+d`. `text` is what it types, or what was pasted. */
export interface Key {
  name: string
  text?: string
  /** What the mouse did, instead of a key. */
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
/** The ends of sequences that begin with ESC [ or ESC O. `focus` is no key: the terminal is looked at again. */
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

/** Takes apart what a terminal sends. Fast keys come in one piece, slow sequences in several. */
export interface Decoder {
  /** The keys that a piece completes. */
  push(piece: string): Key[]
  /** True while something is there that may be the beginning of more. */
  readonly pending: boolean
  /** Nothing more came: a lone ESC is the key. */
  flush(): Key[]
}

export function createDecoder(): Decoder {
  let rest = ''
  const take = (final: boolean): Key[] => {
    const keys: Key[] = []
    for (;;) {
      const next = first(rest, final)
      if (!next) return keys
      rest = rest.slice(next.length)
      if (next.key) keys.push(next.key)
    }
  }
  return {
    push: piece => {
      // It also gets out of a paste that never ends.
      rest = piece === '\u0003' ? piece : rest + piece
      return take(false)
    },
    get pending() {
      return rest !== '' && !rest.startsWith(pasteBegin)
    },
    flush: () => take(true),
  }
}

interface Taken {
  key?: Key
  length: number
}

/** The first key of what came; undefined while it may still go on. */
function first(text: string, final: boolean): Taken | undefined {
  if (text === '') return undefined
  if (text[0] !== '\u001b') return typed(text)
  if (text.startsWith(pasteBegin)) return pasted(text)
  const sequence = /^\u001b(?:\[([\d;:<=>?]*)[ -/]*([@-~])|O([ -~]))/.exec(text)
  if (sequence)
    return {
      key: sequence[3] === 'M' ? { name: 'enter' } : fromSequence(sequence[1] ?? '', sequence[2] ?? sequence[3]!),
      length: sequence[0].length,
    }
  if (!final && /^\u001b(?:\[[\d;:<=>?]*[ -/]*|O)?$/.test(text)) return undefined
  if (text.length > 1 && text[1] !== '\u001b' && !/^\u001b[[O]/.test(text)) {
    const { key, length } = typed(text.slice(1))
    return { key: key && { name: `alt+${key.name}` }, length: length + 1 }
  }
  return { key: { name: 'escape' }, length: 1 }
}

function pasted(text: string): Taken | undefined {
  const end = text.indexOf(pasteEnd)
  if (end >= 0)
    return { key: { name: 'paste', text: text.slice(pasteBegin.length, end) }, length: end + pasteEnd.length }
  return text.length > maxPasteLength ? { length: text.length } : undefined
}

function typed(text: string): Taken {
  const character = String.fromCodePoint(text.codePointAt(0)!)
  const code = character.codePointAt(0)!
  if (Object.hasOwn(named, character))
    return { key: { name: named[character]!, ...(code >= 32 && code < 127 && { text: character }) }, length: 1 }
  if (code < 32) return { key: { name: `ctrl+${String.fromCharCode(code + 96)}` }, length: 1 }
  return { key: { name: character, text: character }, length: character.length }
}

/** The modifiers are in the second number: 1 more than shift 1, alt 2, ctrl 4. What the terminal tells of itself is no key. */
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
