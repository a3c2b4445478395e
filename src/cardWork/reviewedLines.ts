import { invalid, Problem } from '../contract/errors.ts'
import { reviewLimits, type NewComment } from '../contract/forges/reviews.ts'
import { shownLines, type ShownFiles } from '../git/shownLines.ts'
import type { WorkDiff } from '../worktrees/comparison.ts'

/** A comment on lines of the diff, with their text. */
export type PlacedComment = Omit<NewComment, 'startLine'> & { startLine: number; text: string }

/**
 * Finds the commented lines in the diffs of their repositories, changed or context lines. A renamed file is found by its new path and, for
 * the side `old`, also by its old path.
 * @throws Problem VALIDATION_FAILED naming each comment whose lines the diff does not show
 */
export function placeComments(comments: readonly NewComment[], diffs: ReadonlyMap<string, WorkDiff>): PlacedComment[] {
  if (comments.length === 0) return []
  const names = new Set(comments.map(({ repository }) => repository))
  const files = new Map([...names].map(name => [name, shownLines(diffs.get(name)?.diff ?? '')]))
  const placed = comments.map(comment => placeComment(comment, files.get(comment.repository)!))
  const details = placed.flatMap((result, at) =>
    typeof result === 'string' ? [{ path: `comments.${at}`, message: result }] : [],
  )
  if (details.length > 0)
    throw new Problem(
      'VALIDATION_FAILED',
      details
        .slice(0, 5)
        .map(({ path, message }) => `${path} ${message}`)
        .join('; '),
      {
        details,
      },
    )
  const all = placed as PlacedComment[]
  if (all.reduce((sum, { text, body }) => sum + text.length + body.length, 0) > reviewLimits.maxLength)
    throw invalid('comments', 'are too long in total. Send them as several reviews')
  return all
}

/** The comment with its text, or why its lines are invalid. */
function placeComment({ startLine, ...comment }: NewComment, files: ShownFiles): PlacedComment | string {
  const { repository, path, side, line } = comment
  const first = startLine ?? line
  if (first > line) return `has startLine ${first}, which must not be greater than line ${line}`
  const file = files[side].get(path) ?? files.new.get(path) ?? files.old.get(path)
  if (!file) return `names ${JSON.stringify(path)}, which the diff${repository && ` of ${repository}`} does not contain`
  if (file.isBinary) return `names ${JSON.stringify(path)}, which is binary`
  const lines = file[side]
  if (lines.size < line - first + 1) return notShown(path, side, first, line)
  const texts: string[] = []
  for (let number = first; number <= line; number++) {
    const text = lines.get(number)
    if (text === undefined) return notShown(path, side, first, line)
    texts.push(text)
  }
  return { ...comment, startLine: first, text: storableText(texts.join('\n')) }
}

const notShown = (path: string, side: 'old' | 'new', first: number, line: number): string =>
  `names ${first === line ? `line ${line}` : `lines ${first} to ${line}`} of ${JSON.stringify(path)}, which the diff does not contain${side === 'old' ? ' on the old side' : ''}`

/** The store cuts text at NUL, and lone surrogates have no UTF-8 encoding. */
const storableText = (text: string): string =>
  text.slice(0, reviewLimits.maxTextLength).replaceAll('\0', '\uFFFD').toWellFormed()
