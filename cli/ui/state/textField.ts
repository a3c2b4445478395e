import { harmless, signsOf } from '../../output/text.ts'
import type { Key } from '../terminal/keys.ts'

/** One line of text that is being typed, as signs, and before which of them the caret is. */
export interface TextField {
  signs: readonly string[]
  at: number
}

const maxSigns = 500

export const emptyField: TextField = { signs: [], at: 0 }
export const fieldOf = (text: string): TextField => {
  const signs = [...signsOf(text)].map(({ sign }) => sign)
  return { signs, at: signs.length }
}
export const textIn = ({ signs }: TextField): string => signs.join('')

/** The field after a key; undefined when the key types and edits nothing. */
export function typeInto(field: TextField, { name, text }: Key): TextField | undefined {
  const { signs, at } = field
  if (text !== undefined) return insert(field, text)
  switch (name) {
    case 'left':
    case 'ctrl+b':
      return { signs, at: Math.max(0, at - 1) }
    case 'right':
    case 'ctrl+f':
      return { signs, at: Math.min(signs.length, at + 1) }
    case 'home':
    case 'ctrl+a':
      return { signs, at: 0 }
    case 'end':
    case 'ctrl+e':
      return { signs, at: signs.length }
    case 'backspace':
      return cut(field, Math.max(0, at - 1), at)
    case 'delete':
    case 'ctrl+d':
      return cut(field, at, at + 1)
    case 'ctrl+u':
      return cut(field, 0, at)
    case 'ctrl+k':
      return cut(field, at, signs.length)
    case 'ctrl+w':
    case 'alt+backspace':
      return cut(field, startOfWord(field), at)
    case 'ctrl+left':
    case 'alt+b':
      return { signs, at: startOfWord(field) }
    default:
      return undefined
  }
}

/** Signs that join (an accent after its letter) become one, so all is taken apart again. */
function insert({ signs, at }: TextField, text: string): TextField {
  const before = signs.slice(0, at).join('') + harmless(text)
  const whole = [...signsOf(before + signs.slice(at).join(''))].map(({ sign }) => sign)
  if (whole.length > maxSigns) return { signs, at }
  return { signs: whole, at: Math.min(whole.length, [...signsOf(before)].length) }
}

const cut = ({ signs }: TextField, from: number, to: number): TextField => ({
  signs: [...signs.slice(0, from), ...signs.slice(to)],
  at: from,
})

function startOfWord({ signs, at }: TextField): number {
  let start = at
  while (start > 0 && signs[start - 1] === ' ') start--
  while (start > 0 && signs[start - 1] !== ' ') start--
  return start
}
