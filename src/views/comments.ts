import type { InferOutput } from 'valibot'
import { Comment } from '../contract/cards/comments.ts'
import { commentFields, type CommentRow } from '../store/cards/comments.ts'
import { viewOf } from './view.ts'

export const comment: (row: CommentRow) => InferOutput<typeof Comment> = viewOf(
  commentFields,
  Comment,
  'text',
  ({ authorKind, authorId, authorName }: CommentRow) => ({
    author: { kind: authorKind, userId: authorId ? String(authorId) : null, displayName: authorName },
  }),
)
