import * as v from 'valibot'
import { Count, Id, isVisible, limit, Prompt, queryInteger, Time } from '../fields.ts'
import { ofCard } from '../notFound.ts'
import { del, get, patch, post, viewer } from '../route.ts'

/** The maximum number of comments on a card. */
export const maxComments = 2500

/** Markdown of up to 64 KiB, in which `@[name](userId)` mentions a user. */
export const CommentBody = v.pipe(
  Prompt,
  v.minLength(1, 'must not be empty'),
  v.check(value => value === '' || isVisible(value), 'must contain a visible character'),
)
/** The author: an account of this server, an agent, or a person whose name came with an import. */
const Author = v.object({
  kind: v.picklist(['user', 'agent', 'imported']),
  userId: v.nullable(Id),
  displayName: v.string(),
})
export const Comment = v.object({
  id: Id,
  cardId: Id,
  author: Author,
  body: v.string(),
  createdAt: Time,
  /** When the comment's text was last changed. */
  editedAt: v.nullable(Time),
})
const cardCount = { /** How many its card has now. */ commentCount: Count }
/** The data of comment events. `mentioned`: the accounts that this text mentions and the previous text did not. */
export const CommentWritten = v.object({ ...Comment.entries, mentioned: v.array(Id), ...cardCount })
export const CommentDeleted = v.object({ id: Id, cardId: Id, ...cardCount })

const ofComment = { ...ofCard, commentId: 'COMMENT_NOT_FOUND' } as const
export const ListComments = v.strictObject({ limit: limit(50, 100), cursor: v.optional(queryInteger(1)) })

export const comments = {
  list: get('/api/projects/{projectId}/cards/{cardId}/comments', {
    notFound: ofCard,
    who: viewer('cards.read'),
    tool: {
      name: 'list_comments',
      title: 'List comments',
      group: 'find',
      does: 'reads',
      usual: { limit: 20 },
      pages: { after: 'cursor' },
    },
    summary: "List a card's comments, newest first",
    details: 'Use cursor for comments with a smaller ID.',
    input: ListComments,
    output: v.object({ items: v.array(Comment), nextCursor: v.nullable(Id) }),
  }),
  create: post('/api/projects/{projectId}/cards/{cardId}/comments', {
    notFound: ofCard,
    who: viewer('comments.write'),
    tool: { name: 'add_comment', title: 'Comment on a card', group: 'change', does: 'changes' },
    summary: 'Create a comment on a card',
    details: '@[name](userId) mentions a user who can see the project.',
    input: v.strictObject({ body: CommentBody }),
    output: Comment,
    idempotent: true,
    status: 201,
    emits: ['comment.created'],
  }),
  update: patch('/api/projects/{projectId}/cards/{cardId}/comments/{commentId}', {
    notFound: ofComment,
    who: viewer('comments.write'),
    summary: "Update one of the caller's comments",
    input: v.strictObject({ body: CommentBody }),
    output: Comment,
    emits: ['comment.updated'],
  }),
  delete: del('/api/projects/{projectId}/cards/{cardId}/comments/{commentId}', {
    notFound: ofComment,
    audited: { target: 'comment' },
    who: viewer('comments.write'),
    summary: 'Delete a comment',
    details: 'Project admins can delete any comment, other users only their own.',
    emits: ['comment.deleted'],
  }),
}
