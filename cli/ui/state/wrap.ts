import { truncate, graphemesOf } from '../../output/text.ts'

const plain = /^[\x20-\x7e]*$/

/**
 * Wraps a text without line breaks, at spaces where possible. The last of `maxLines` lines ends in an ellipsis if
 * there is more.
 */
export function wrap(text: string, width: number, maxLines = Infinity): string[] {
  const lines: string[] = []
  for (let rest: string | undefined = text; rest !== undefined;) {
    if (lines.length === maxLines - 1) return [...lines, truncate(rest, width)]
    const end = endOfLine(rest, width)
    lines.push(rest.slice(0, end).trimEnd())
    rest = end < rest.length ? rest.slice(end).replace(/^ +/, '') : undefined
  }
  return lines
}

function endOfLine(text: string, width: number): number {
  const end = fitting(text, width)
  if (end >= text.length || text[end] === ' ') return end
  const space = text.lastIndexOf(' ', end)
  return space > end / 3 ? space : end
}

/** The length of the prefix that fits, in code units; at least one grapheme. */
function fitting(text: string, width: number): number {
  if (plain.test(text.slice(0, width + 1))) return Math.min(text.length, Math.max(1, width))
  let end = 0
  let used = 0
  for (const { grapheme, width: cells } of graphemesOf(text)) {
    used += cells
    if (used > width && end > 0) break
    end += grapheme.length
  }
  return end
}
