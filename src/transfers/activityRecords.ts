import * as v from 'valibot'
import { activityActions, actorKinds } from '../contract/cards/activity.ts'
import { CommentBody } from '../contract/cards/comments.ts'
import { IntegerId, text } from '../contract/fields.ts'
import { orNull, Time } from './records.ts'

/** A comment on a card. Comments are ordered oldest first. The author is only a name, because accounts are specific to a server. */
export const Comment = v.strictObject({
  cardId: IntegerId,
  authorName: v.optional(text(0, 500), ''),
  fromAgent: v.optional(v.boolean(), false),
  body: CommentBody,
  createdAt: v.optional(Time),
  editedAt: orNull(Time),
})
const ChangedValue = orNull(
  v.union([
    text(0, 10_000),
    v.pipe(v.number(), v.finite()),
    v.boolean(),
    v.pipe(v.array(text(0, 500)), v.maxLength(500)),
  ]),
)
/** An entry of a card's activity. Entries are ordered oldest first. */
export const Activity = v.strictObject({
  cardId: IntegerId,
  at: Time,
  actorKind: v.picklist(actorKinds),
  actorName: v.optional(text(0, 500), ''),
  action: v.picklist(activityActions),
  changes: v.optional(
    v.pipe(v.array(v.strictObject({ field: text(1, 100), from: ChangedValue, to: ChangedValue })), v.maxLength(100)),
    [],
  ),
})
