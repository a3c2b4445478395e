import type { LiveMessage } from '../../../src/client/socket.ts'
import { plainMentions } from '../../../src/contract/cards/mentions.ts'
import { escapeControls } from '../../output/text.ts'
import { toUpdate, type Cmd, type Model, type Update } from './model.ts'
import type { Opened } from './opened.ts'
import type { TextLine } from './textLine.ts'

/** How many of a card's comments are read. */
export const commentsAtOnce = 100

/** Reads the comments of an opened card while their tab is open, and again after they have changed. */
export function readComments(model: Model): Update {
  const { opened } = model
  if (!opened?.card || opened.tab !== 'comments' || !opened.areCommentsStale) return toUpdate(model)
  const read: Cmd = { type: 'comments', cardId: opened.cardId }
  return toUpdate({ ...model, opened: { ...opened, areCommentsStale: false } }, read)
}

export const withCommentEvents = (opened: Opened, events: readonly LiveMessage[]): Opened =>
  events.some(({ type, data }) => type.startsWith('comment.') && (data as { cardId: string }).cardId === opened.cardId)
    ? { ...opened, areCommentsStale: true }
    : opened

/** Returns the comments, oldest first. `markdown` draws a text. */
export function commentLines({ comments, card }: Opened, markdown: (text: string) => readonly TextLine[]): TextLine[] {
  if (comments === undefined) return [{ kind: 'dim', text: 'Reading ...' }]
  if (typeof comments === 'string') return [{ kind: 'dim', text: comments }]
  if (comments.length === 0) return [{ kind: 'dim', text: 'This card has no comments yet.' }]
  const older = card!.commentCount - comments.length
  return [
    ...(older > 0
      ? [{ kind: 'dim' as const, text: `${older} older ones: board cards comment ${card!.id} --all` }]
      : []),
    ...comments.toReversed().flatMap(({ author, body, createdAt, editedAt }, at): TextLine[] => [
      ...(at > 0 || older > 0 ? [{ kind: 'text' as const, text: '' }] : []),
      {
        kind: author.kind === 'agent' ? 'agent' : 'user',
        text: escapeControls(author.displayName),
        aside: `${localTime(createdAt)}${editedAt === null ? '' : ', edited'}`,
      },
      ...markdown(plainMentions(body).trim()).map(line => ({ ...line, text: `  ${line.text}` })),
    ]),
  ]
}

/** `2026-11-23 08:30`, by the person's own clock. */
function localTime(iso: string): string {
  const at = new Date(iso)
  const two = (part: number) => String(part).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`
}
