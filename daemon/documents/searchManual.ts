import { html, type Html } from './html.ts'

/** The text below one heading of the documentation. */
export interface ManualSection {
  page: string
  /** The anchor of the heading. */
  id: string
  title: string
  text: string
}

const maxResults = 30
/** Anyone can search, and each word costs a pass through the whole documentation. */
const maxWords = 8
const excerptLength = 200
const titleScore = 10

/**
 * Returns the sections that contain the first 8 distinct words of the query. Matches in headings come first, then sections with more
 * matches.
 */
export function searchManual(
  sections: readonly ManualSection[],
  query: string,
): Array<{ section: ManualSection; excerpt: Html }> {
  const words = [...new Set(query.toLowerCase().split(/\s+/).filter(Boolean))].slice(0, maxWords)
  return sections
    .map(section => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, maxResults)
    .map(({ section }) => ({ section, excerpt: excerptOf(section.text, words) }))
}

function scoreOf({ title, text }: ManualSection, words: readonly string[]): number {
  const [heading, body] = [title.toLowerCase(), text.toLowerCase()]
  const scores = words.map(word => countOf(heading, word) * titleScore + countOf(body, word))
  return scores.every(score => score > 0) ? scores.reduce((sum, score) => sum + score, 0) : 0
}

const countOf = (text: string, word: string): number => text.split(word).length - 1

/** The part of the text around its first match, with the match marked. */
function excerptOf(text: string, words: readonly string[]): Html {
  const lower = text.toLowerCase()
  const found = words.map(word => [lower.indexOf(word), word] as const).filter(([at]) => at >= 0)
  if (found.length === 0) return html`${text.slice(0, excerptLength)}`
  const [at, word] = found.reduce((first, other) => (other[0] < first[0] ? other : first))
  const start = Math.max(0, at - excerptLength / 2)
  const end = at + word.length
  return html`${start > 0 ? '…' : ''}${text.slice(start, at)}<mark>${text.slice(at, end)}</mark>${text.slice(end, start + excerptLength)}…`
}
