import { escapeControls, graphemesOf } from '../../output/text.ts'
import type { Key } from '../terminal/keys.ts'

/** One line of input as graphemes; `at` is the index of the caret. */
export interface TextField {
  graphemes: readonly string[]
  at: number
}

const maxGraphemes = 500

export const emptyField: TextField = { graphemes: [], at: 0 }
export const fieldOf = (text: string): TextField => {
  const graphemes = [...graphemesOf(text)].map(({ grapheme }) => grapheme)
  return { graphemes, at: graphemes.length }
}
export const textIn = ({ graphemes }: TextField): string => graphemes.join('')

/** The field after a key; undefined for a key that does not edit. */
export function typeInto(field: TextField, { name, text }: Key): TextField | undefined {
  const { graphemes, at } = field
  if (text !== undefined) return insert(field, text)
  switch (name) {
    case 'left':
    case 'ctrl+b':
      return { graphemes, at: Math.max(0, at - 1) }
    case 'right':
    case 'ctrl+f':
      return { graphemes, at: Math.min(graphemes.length, at + 1) }
    case 'home':
    case 'ctrl+a':
      return { graphemes, at: 0 }
    case 'end':
    case 'ctrl+e':
      return { graphemes, at: graphemes.length }
    case 'backspace':
      return cut(field, Math.max(0, at - 1), at)
    case 'delete':
    case 'ctrl+d':
      return cut(field, at, at + 1)
    case 'ctrl+u':
      return cut(field, 0, at)
    case 'ctrl+k':
      return cut(field, at, graphemes.length)
    case 'ctrl+w':
    case 'alt+backspace':
      return cut(field, startOfWord(field), at)
    case 'ctrl+left':
    case 'alt+b':
      return { graphemes, at: startOfWord(field) }
    default:
      return undefined
  }
}

/** Splits the whole text again, because combining characters join (an accent after its letter). */
function insert({ graphemes, at }: TextField, text: string): TextField {
  const before = graphemes.slice(0, at).join('') + escapeControls(text)
  const whole = [...graphemesOf(before + graphemes.slice(at).join(''))].map(({ grapheme }) => grapheme)
  if (whole.length > maxGraphemes) return { graphemes, at }
  return { graphemes: whole, at: Math.min(whole.length, [...graphemesOf(before)].length) }
}

const cut = ({ graphemes }: TextField, from: number, to: number): TextField => ({
  graphemes: [...graphemes.slice(0, from), ...graphemes.slice(to)],
  at: from,
})

function startOfWord({ graphemes, at }: TextField): number {
  let start = at
  while (start > 0 && graphemes[start - 1] === ' ') start--
  while (start > 0 && graphemes[start - 1] !== ' ') start--
  return start
}
