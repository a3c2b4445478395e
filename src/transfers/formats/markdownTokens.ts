import MarkdownIt, { type StateBlock, type Token } from 'markdown-it'
import { importError } from '../importErrors.ts'

/** Limits the memory that a file takes: a token is about 250 bytes, and a task has five. */
const maxTokens = 1_000_000
const maxNesting = 100

type BlockRule = (state: StateBlock, startLine: number, endLine: number, silent: boolean) => boolean

/** The blocks of CommonMark, and the comments of Obsidian. Their `map` is in lines. Inline content stays text. */
const parser = new MarkdownIt('commonmark', { html: true, maxNesting })

const limitTokens: BlockRule = ({ tokens }) => {
  if (tokens.length > maxTokens) throw importError('', `the file must have at most ${maxTokens} blocks and list items`)
  return false
}

/** A comment from a line that begins with %% to the next %%, or to the end of the file. */
const comment: BlockRule = (state, startLine, endLine, silent) => {
  const lineAt = (line: number) => state.src.slice(state.bMarks[line]! + state.tShift[line]!, state.eMarks[line])
  const first = lineAt(startLine)
  if (state.sCount[startLine] !== 0 || !first.startsWith('%%')) return false
  if (silent) return true
  let line = startLine
  if (!first.slice(2).includes('%%'))
    do line++
    while (line < endLine && !lineAt(line).includes('%%'))
  state.line = Math.min(line + 1, endLine)
  const token = state.push('comment', '', 0)
  token.map = [startLine, state.line]
  token.content = state.src.slice(state.bMarks[startLine], state.eMarks[state.line - 1])
  return true
}

parser.block.ruler.before('code', 'limit', limitTokens)
parser.block.ruler.before('fence', 'comment', comment, { alt: ['paragraph', 'reference', 'blockquote', 'list'] })

/** Whether a fence outside of lists and quotes has no end. CommonMark reads the rest of the file as its code. */
function isUnclosed(token: Token | undefined, lines: readonly string[]): token is Token {
  if (token?.type !== 'fence' || token.level !== 0) return false
  const [first, end] = token.map!
  const closing = new RegExp(`^ {0,3}${token.markup[0]}{${token.markup.length},}\\s*$`)
  return end - first < 2 || !closing.test(lines[end - 1]!)
}

export interface Parsed {
  tokens: readonly Token[]
  lines: readonly string[]
  /** The number of unclosed code blocks. Their lines count as text. */
  unclosed: number
}

/** Parses text whose lines end in \n. @throws Problem INVALID_IMPORT if it has too many blocks */
export function parseMarkdown(text: string): Parsed {
  const lines = text.split('\n')
  const maxUnclosed = 10
  for (let unclosed = 0; ; unclosed++) {
    const tokens: Token[] = []
    parser.block.parse(lines.join('\n'), parser, {}, tokens)
    const last = tokens.at(-1)
    if (!isUnclosed(last, lines) || unclosed === maxUnclosed) return { tokens, lines, unclosed }
    lines[last.map![0]] = ''
  }
}

/** The visible text of one line, without marks, addresses and HTML. */
export const plainText = (markdown: string): string =>
  parser
    .parseInline(markdown, {})
    .flatMap(({ children }) => children ?? [])
    .map(({ type, content }) => (type === 'html_inline' ? '' : type.endsWith('break') ? ' ' : content))
    .join('')
    .trim()

/** Text of one or more lines without its HTML comments. */
export const withoutComments = (markdown: string): string =>
  markdown.includes('<!--')
    ? parser
        .parseInline(markdown, {})
        .flatMap(({ children }) => children ?? [])
        .filter(({ type, content }) => type === 'html_inline' && content.startsWith('<!--'))
        .reduce((text, { content }) => text.replace(content, ''), markdown)
    : markdown
