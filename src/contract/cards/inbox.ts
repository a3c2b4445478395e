import * as v from 'valibot'
import { CardStatus, Count, GivenTime, Id, limit, queryInteger, queryRefTo, refTo, Time } from '../fields.ts'
import { StatusReason } from '../agents/agents.ts'
import { get, patch, user } from '../route.ts'
import { inboxKinds } from './inboxKinds.ts'

const InboxKind = v.picklist(inboxKinds)
const InboxState = v.picklist(['unread', 'read', 'snoozed', 'done'])

/** An item's ID: its kind and its card. */
const ItemId = v.pipe(
  v.string(),
  v.regex(new RegExp(`^(${inboxKinds.join('|')})-[1-9]\\d{0,15}$`), 'must be the ID of an item, such as question-12'),
)
/**
 * An item of a user's inbox: the newest occurrence of its kind on its card. `createdAt` is the time of that occurrence. A newer one
 * is unread again.
 */
export const InboxItem = v.object({
  id: ItemId,
  kind: InboxKind,
  projectId: Id,
  projectName: v.string(),
  cardId: Id,
  cardTitle: v.string(),
  cardStatus: CardStatus,
  cardStatusReason: v.nullable(StatusReason),
  text: v.string(),
  createdAt: Time,
  state: InboxState,
  snoozedUntil: v.nullable(Time),
})

const ListInbox = v.strictObject({
  state: v.optional(v.picklist(['open', 'unread', 'snoozed', 'done']), 'open'),
  kind: v.optional(InboxKind),
  projectId: v.optional(queryRefTo('PROJECT_NOT_FOUND')),
  limit: limit(50, 1000),
  cursor: v.optional(queryInteger(1)),
})
const MarkInbox = v.pipe(
  v.strictObject({
    ids: v.optional(v.pipe(v.array(ItemId), v.minLength(1), v.maxLength(1000))),
    all: v.optional(v.literal(true)),
    kind: v.optional(InboxKind),
    projectId: v.optional(refTo('PROJECT_NOT_FOUND')),
    createdUntil: v.optional(GivenTime),
    state: InboxState,
    snoozedUntil: v.optional(GivenTime),
  }),
  v.forward(
    v.check(({ ids, all }) => (ids === undefined) !== (all === undefined), 'must be set, or all, but not both'),
    ['ids'],
  ),
  v.forward(
    v.check(
      ({ state, snoozedUntil }) => (state === 'snoozed') === (snoozedUntil !== undefined),
      'must be set for the state snoozed only',
    ),
    ['snoozedUntil'],
  ),
)

export const inbox = {
  list: get('/api/inbox', {
    who: user,
    fails: ['PROJECT_NOT_FOUND'],
    summary: "List the caller's inbox over all projects, newest first",
    details:
      'An item leaves the inbox when its cause ends, for example when a question is answered. The state open is unread or read. `unread` counts the unread items without the filters.',
    input: ListInbox,
    output: v.object({ items: v.array(InboxItem), nextCursor: v.nullable(v.string()), unread: Count }),
  }),
  mark: patch('/api/inbox', {
    who: user,
    fails: ['PROJECT_NOT_FOUND'],
    summary: 'Set the state of items in the inbox of the caller',
    details:
      'Specify ids, or all with the optional filters kind, projectId and createdUntil. Items that are not in the inbox are omitted from the response. The state read does not apply to snoozed and done items. A snoozed item is unread again at snoozedUntil. With createdUntil, newer items are unchanged.',
    input: MarkInbox,
    output: v.object({ ids: v.array(ItemId) }),
  }),
}
