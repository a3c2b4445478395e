import { cleanText } from './forgeFields.ts'

const before = 3
const after = 8
const maxLineLength = 1000
/** The maximum share of the length for the lines around errors. The end of the log gets the rest. */
const errorShare = 0.5
const leftOut = '[...]'

/** Terminal sequences for colors and cursor movement, and the markers of GitLab's sections. */
const terminal = new RegExp(
  '\\u001b\\[[0-?]*[ -/]*[@-~]|\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)|\\u001b[@-Z\\\\-_]|section_(?:start|end):\\d+:[^\\r\\n]*\\r?',
  'g',
)
const timestamp =
  /^\ufeff?(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?)[ \t]?(?:\d\d[OE][+ ]?)?/
const failing =
  /##\[error\]|\b(?:error|errors|fatal|failed|failure|failing|panic|panicked|exception|traceback|assertion\w*|segmentation fault|undefined reference|unhandled|killed)\b|\w(?:Error|Exception)\b|\bnot ok\b|^\s*(?:✗|✘|✖|×|❌|FAIL\b)/i
/** Lines that mention errors although there are none. */
const harmless = /\b(?:0|no) (?:errors?|failed|failures?|failing)\b|\b(?:errors?|failed|failures?)[:=] ?0\b/i

/**
 * The parts of a log that explain its failure: the lines around its first errors, and its end. Without colors, control characters
 * and timestamps, and at most `maxBytes` long in UTF-8.
 */
export function errorLines(log: string, maxBytes: number): string {
  const lines = log
    .replace(terminal, '')
    .split('\n')
    // If a line was overwritten, only its last version counts.
    .map(line => plain(line.trimEnd().split('\r').at(-1)!))
  while (lines.at(-1) === '') lines.pop()
  const all = lines.join('\n')
  if (Buffer.byteLength(all) <= maxBytes) return all
  if (maxBytes < leftOut.length) return ''
  const sizes = lines.map(line => Buffer.byteLength(line) + 1)
  const mark = leftOut.length + 1
  const errors = aroundErrors(lines, sizes, maxBytes * errorShare, mark)
  let room = maxBytes - mark - errors.size
  let end = lines.length
  while (end > 0 && (errors.at.has(end - 1) || room >= sizes[end - 1]!)) if (!errors.at.has(--end)) room -= sizes[end]!
  return render(lines, index => index >= end || errors.at.has(index))
}

/** The first errors with the lines around them, as many as fit. */
function aroundErrors(
  lines: readonly string[],
  sizes: readonly number[],
  room: number,
  mark: number,
): { at: Set<number>; size: number } {
  const at = new Set<number>()
  let size = 0
  for (const [index, line] of lines.entries()) {
    if (!failing.test(line) || harmless.test(line)) continue
    const around = []
    for (let each = Math.max(0, index - before); each <= Math.min(lines.length - 1, index + after); each++)
      if (!at.has(each)) around.push(each)
    const more = around.reduce((sum, each) => sum + sizes[each]!, mark)
    if (size + more > room) break
    for (const each of around) at.add(each)
    size += more
  }
  return { at, size }
}

function render(lines: readonly string[], isKept: (index: number) => boolean): string {
  const shown: string[] = []
  for (const [index, line] of lines.entries())
    if (isKept(index)) shown.push(line)
    else if (shown.at(-1) !== leftOut) shown.push(leftOut)
  return shown.join('\n')
}

const plain = (line: string): string => cleanText(line.replace(timestamp, ''), maxLineLength)
