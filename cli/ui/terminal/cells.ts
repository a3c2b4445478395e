import { escapeControls, graphemesOf } from '../../output/text.ts'

/** A piece of text and its style: the parameters of an SGR sequence, `1;36`. */
export interface Span {
  text: string
  style?: string
}
/** A line of the screen; `style` is its background style, also behind blanks. */
export interface Line {
  spans: readonly Span[]
  style?: string
}

/** A line as cells. A wide grapheme is followed by empty cells. */
export interface Row {
  graphemes: string[]
  styles: string[]
}

export const blankRow = (width: number): Row => ({
  graphemes: Array<string>(width).fill(' '),
  styles: Array<string>(width).fill(''),
})

/** The cell in which the grapheme at a cell begins. */
export function startOf({ graphemes }: Pick<Row, 'graphemes'>, at: number): number {
  while (graphemes[at] === '' && at > 0) at--
  return at
}

/** Combines styles; later ones win. */
export const joinStyles = (...styles: readonly (string | undefined)[]): string => styles.filter(Boolean).join(';')

const plain = /^[\x20-\x7e]*$/

/** Lays a line out in exactly `width` cells. Control characters become visible, so no text controls the terminal. */
export function rowOf({ spans, style: under = '' }: Line, width: number): Row {
  const row = blankRow(width)
  if (under !== '') row.styles.fill(under)
  let at = 0
  for (const { text, style } of spans) {
    const look = joinStyles(under, style)
    at = plain.test(text) ? putPlain(row, at, text, look) : putGraphemes(row, at, escapeControls(text), look)
    if (at >= width) break
  }
  return row
}

function putPlain({ graphemes, styles }: Row, from: number, text: string, style: string): number {
  const end = Math.min(from + text.length, graphemes.length)
  for (let at = from; at < end; at++) {
    graphemes[at] = text[at - from]!
    styles[at] = style
  }
  return end
}

function putGraphemes({ graphemes, styles }: Row, from: number, text: string, style: string): number {
  let at = from
  for (const { grapheme, width } of graphemesOf(text)) {
    if (width === 0) continue
    if (at + width > graphemes.length) return graphemes.length
    graphemes[at] = grapheme
    styles[at] = style
    for (const end = at + width; ++at < end;) {
      graphemes[at] = ''
      styles[at] = style
    }
  }
  return at
}
