import type { ReviewWithComments } from '../../../cardWork/reviews.ts'
import type { ReviewCommentRow } from '../../../store/forges/reviews.ts'

/** A review as the agent receives it: each comment with its location and the text of its lines. */
export function messageOf(review: ReviewWithComments): string {
  const { round, authorName } = review
  const first = `${authorName || 'A person'} reviewed your work and requests changes (round ${round}).`
  return [first, ...textOfReview(review)].join('\n\n')
}

/** The paragraphs of a review: its text, its open comments, and what to do with them. */
export function textOfReview({ body, comments }: ReviewWithComments): string[] {
  const open = comments.filter(({ resolvedAt }) => resolvedAt === null)
  return [
    body.trim(),
    ...open.map(commentText),
    open.length > 0
      ? 'Make the changes. Then answer each comment with the tool answer_comment, and pass resolved: true where you did what it asks for.'
      : 'Make the changes.',
  ].filter(paragraph => paragraph !== '')
}

function commentText({ id, repository, path, side, startLine, line, text, body }: ReviewCommentRow): string {
  const lines = startLine === line ? `line ${line}` : `lines ${startLine} to ${line}`
  const name = /[\p{C}"]/u.test(path) ? JSON.stringify(path) : path
  return `Comment ${id} on ${name}${repository && ` in the repository ${repository}`}, ${lines}${side === 'old' ? ' in the version before your changes' : ''}:\n${quote(text)}\n\n${body.trim()}`
}

const quote = (text: string): string =>
  text
    .split('\n')
    .map(line => `> ${line}`)
    .join('\n')
