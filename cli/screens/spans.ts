import { truncate, escapeControls, widthOf } from '../output/text.ts'
import type { Line, Span } from '../ui/terminal/cells.ts'

/** Creates text in a style. Makes control characters visible before the text is measured. */
export const span = (text: string, style = ''): Span => ({ text: escapeControls(text), style })
export const widthOfSpans = (spans: readonly Span[]): number => spans.reduce((sum, { text }) => sum + widthOf(text), 0)

/** Draws a line with right-aligned spans. If the line is too long, the left spans are truncated. */
export function spreadSpans(
  left: readonly Span[],
  right: readonly Span[],
  width: number,
  style?: string,
  ellipsis = '…',
): Line {
  const room = Math.max(0, width - widthOfSpans(right) - (right.length > 0 ? 1 : 0))
  const kept = fitSpans(left, room, ellipsis)
  return {
    spans: [...kept, span(' '.repeat(Math.max(0, width - widthOfSpans(kept) - widthOfSpans(right)))), ...right],
    style,
  }
}

/** Truncates spans to `width` cells. */
export function fitSpans(spans: readonly Span[], width: number, ellipsis = '…'): Span[] {
  const kept: Span[] = []
  let room = width
  for (const each of spans) {
    const text = fitText(each.text, room, ellipsis)
    if (text !== '') kept.push({ ...each, text })
    if (text !== each.text) break
    room -= widthOf(text)
  }
  return kept
}

export const fitText = (text: string, width: number, ellipsis: string): string => {
  const fitted = truncate(escapeControls(text), width)
  return fitted === escapeControls(text) || ellipsis === '…' ? fitted : fitted.replace(/…$/, ellipsis)
}
