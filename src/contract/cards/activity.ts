import * as v from 'valibot'
import { Id, limit, queryInteger, Time } from '../fields.ts'
import { ofCard } from '../notFound.ts'
import { get, viewer } from '../route.ts'

export const activityActions = [
  'card.created',
  'card.updated',
  'card.moved',
  'card.completed',
  'card.archived',
  'card.unarchived',
  'card.deleted',
  'card.restored',
  'card.merged',
  'branch.pushed',
  'branch.updated',
  'pull_request.opened',
  'pull_request.merged',
  'pull_request.closed',
  'run.started',
  'run.ended',
  'comment.created',
  'comment.updated',
  'comment.deleted',
  'attachment.created',
  'attachment.deleted',
  'review.submitted',
] as const
export type ActivityAction = (typeof activityActions)[number]
export const actorKinds = ['user', 'key', 'agent', 'schedule', 'system'] as const

export const ActivityValue = v.nullable(v.union([v.string(), v.number(), v.boolean(), v.array(v.string())]))
export type ActivityValue = v.InferOutput<typeof ActivityValue>
/** The old and new value of a field. Both are null if the value is too long to keep, such as a prompt. */
export const FieldChange = v.object({ field: v.string(), from: ActivityValue, to: ActivityValue })
export type FieldChange = v.InferOutput<typeof FieldChange>

/**
 * An event in a card's history. `actor.id`: the ID of the account, the key, the agent session or the schedule, if there is one.
 */
export const Activity = v.object({
  id: Id,
  at: Time,
  actor: v.object({ kind: v.picklist(actorKinds), id: v.nullable(Id), name: v.string() }),
  action: v.picklist(activityActions),
  changes: v.array(FieldChange),
})

export const activity = {
  list: get('/api/projects/{projectId}/cards/{cardId}/activity', {
    notFound: ofCard,
    who: viewer('cards.read'),
    tool: {
      name: 'list_activity',
      title: 'List the activity of a card',
      group: 'find',
      does: 'reads',
      usual: { limit: 20 },
      pages: { after: 'cursor' },
    },
    summary: "List a card's activity, newest first",
    details: 'Use cursor for entries with a smaller ID.',
    input: v.strictObject({ limit: limit(50, 500), cursor: v.optional(queryInteger(1)) }),
    output: v.object({ items: v.array(Activity), nextCursor: v.nullable(Id) }),
  }),
}
