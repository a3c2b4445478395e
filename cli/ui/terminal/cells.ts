import { harmless, signsOf } from '../../output/text.ts'

/** A piece of text and how it looks: the parameters of the terminal's SGR sequence, `1;36`. */
export interface Span {
  text: string
  style?: string
}
/** A line of the screen; `style` lies under all of it, also where it has no text. */
export interface Line {
  spans: readonly Span[]
  style?: string
}

/** One line in cells. A sign of two cells is followed by an empty one. */
export interface Row {
  signs: string[]
  styles: string[]
}

export const blankRow = (width: number): Row => ({
  signs: Array<string>(width).fill(' '),
  styles: Array<string>(width).fill(''),
})

/** Puts styles over each other; the later ones win. */
export const styled = (...styles: readonly (string | undefined)[]): string => styles.filter(Boolean).join(';')

const plain = /^[\x20-\x7e]*$/

/** A line in exactly `width` cells. Control characters become visible here, so no text steers the terminal. */
export function rowOf({ spans, style: under = '' }: Line, width: number): Row {
  const row = blankRow(width)
  if (under !== '') row.styles.fill(under)
  let at = 0
  for (const { text, style } of spans) {
    const look = styled(under, style)
    at = plain.test(text) ? putPlain(row, at, text, look) : putSigns(row, at, harmless(text), look)
    if (at >= width) break
  }
  return row
}

function putPlain({ signs, styles }: Row, from: number, text: string, style: string): number {
  const end = Math.min(from + text.length, signs.length)
  for (let at = from; at < end; at++) {
    signs[at] = text[at - from]!
    styles[at] = style
  }
  return end
}

function putSigns({ signs, styles }: Row, from: number, text: string, style: string): number {
  let at = from
  for (const { sign, width } of signsOf(text)) {
    if (width === 0) continue
    if (at + width > signs.length) return signs.length
    signs[at] = sign
    styles[at] = style
    if (width === 2) {
      signs[at + 1] = ''
      styles[at + 1] = style
    }
    at += width
  }
  return at
}
