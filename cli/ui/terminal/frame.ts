import { startOf, type Row } from './cells.ts'

/** The contents of the screen. The caret is shown in a text field. */
export interface Frame {
  width: number
  height: number
  rows: readonly Row[]
  caret?: { x: number; y: number }
}

/** Redrawing up to this many unchanged cells is shorter than a cursor sequence. */
const shortGap = 6
const begin = '\u001b[?2026h'
const end = '\u001b[?2026l'

/**
 * The output that turns the screen from `before` into `after`: the changed cells only, as one synchronized update,
 * which prevents tearing. Without `before` the screen is cleared first. Empty without changes.
 */
export function diffFrames(before: Frame | undefined, after: Frame): string {
  const known = before?.width === after.width && before.height === after.height ? before : undefined
  const pen = new Pen()
  for (let y = 0; y < after.height; y++) drawRow(pen, y, known?.rows[y], after.rows[y]!)
  const sameCaret = known !== undefined && known.caret?.x === after.caret?.x && known.caret?.y === after.caret?.y
  if (known && pen.text === '' && sameCaret) return ''
  const caret = after.caret
    ? `\u001b[${after.caret.y + 1};${after.caret.x + 1}H\u001b[?25h`
    : known?.caret || !known
      ? '\u001b[?25l'
      : ''
  return `${begin}${known?.caret ? '\u001b[?25l' : ''}${known ? '' : '\u001b[m\u001b[2J'}${pen.finish()}${caret}${end}`
}

function drawRow(pen: Pen, y: number, before: Row | undefined, after: Row): void {
  if (before === after) return
  const { graphemes, styles } = after
  const isChanged = (x: number) =>
    before
      ? before.graphemes[x] !== graphemes[x] || before.styles[x] !== styles[x]
      : graphemes[x] !== ' ' || styles[x] !== ''
  const rest = endOfText(after)
  for (let x = 0; x < graphemes.length; x++) {
    if (!isChanged(x)) continue
    const from = startOf(after, x)
    let to = from + 1
    for (let next = to, gap = 0; next < graphemes.length && gap <= shortGap; next++) {
      gap = isChanged(next) ? 0 : gap + 1
      if (gap === 0) to = next + 1
    }
    while (graphemes[to] === '') to++
    x = drawRun(pen, y, from, to, rest, after)
  }
}

/** Draws cells and returns the index after the last one. Trailing blanks are drawn by clearing the rest of the line. */
function drawRun(pen: Pen, y: number, from: number, to: number, rest: number, { graphemes, styles }: Row): number {
  const isLast = to > rest
  for (let x = from; x < (isLast ? rest : to); x++) {
    if (graphemes[x] === '') continue
    let width = 1
    while (graphemes[x + width] === '') width++
    pen.put(x, y, graphemes[x]!, width, styles[x]!)
    // A terminal might draw a grapheme wider than its measured width: the following cells are drawn again.
    to = Math.min(graphemes.length, Math.max(to, x + width + overhang(graphemes[x]!, width)))
  }
  if (!isLast) return to - 1
  pen.clearFrom(Math.max(from, rest), y)
  return graphemes.length
}

function endOfText({ graphemes, styles }: Row): number {
  let end = graphemes.length
  while (end > 0 && graphemes[end - 1] === ' ' && styles[end - 1] === '') end--
  return end
}

/** Characters whose width all terminals agree on: Latin, Greek, Cyrillic, lines and common symbols, CJK. */
const sure =
  /^[\u0020-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2500-\u25ff\u2713\u2717\u2800-\u28ff\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e]$/

const overhang = (grapheme: string, width: number): number =>
  sure.test(grapheme) ? 0 : Math.max(0, [...grapheme].length * 2 - width)

/** Writes cells with as few escape sequences as possible. */
class Pen {
  text = ''
  #x = -1
  #y = -2
  #style = ''

  put(x: number, y: number, grapheme: string, width: number, style: string): void {
    this.#goTo(x, y)
    this.#use(style)
    if (sure.test(grapheme)) {
      this.text += grapheme
      this.#x += width
      return
    }
    // Clears the cells first; the cursor's position is unknown afterwards.
    this.text += ' '.repeat(width)
    this.#x = -1
    this.#goTo(x, y)
    this.text += grapheme
    this.#x = -1
  }

  clearFrom(x: number, y: number): void {
    this.#goTo(x, y)
    this.#use('')
    this.text += '\u001b[K'
  }

  finish(): string {
    return this.#style === '' ? this.text : `${this.text}\u001b[m`
  }

  #goTo(x: number, y: number): void {
    if (this.#x === x && this.#y === y) return
    this.text +=
      x === 0 && this.#y === y - 1 ? '\r\n' : this.#y === y ? `\u001b[${x + 1}G` : `\u001b[${y + 1};${x + 1}H`
    this.#x = x
    this.#y = y
  }

  #use(style: string): void {
    if (style === this.#style) return
    this.text += style === '' ? '\u001b[m' : this.#style === '' ? `\u001b[${style}m` : `\u001b[0;${style}m`
    this.#style = style
  }
}
