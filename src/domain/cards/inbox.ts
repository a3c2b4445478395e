import type { InferOutput } from 'valibot'
import type { InboxItem } from '../../contract/cards/inbox.ts'
import type { InboxKind } from '../../contract/cards/inboxKinds.ts'
import { plainMentions } from '../../contract/cards/mentions.ts'
import { invalid, Problem } from '../../contract/errors.ts'
import type { EventType } from '../../contract/server/events.ts'
import { appendEvent } from '../../events/outbox.ts'
import { listInbox, markItems, noteInInbox, unmarkItems, type InboxRow } from '../../store/cards/inbox.ts'
import type { CommentRow } from '../../store/cards/comments.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { projectRole } from '../accounts/access.ts'
import { isAdmin, type Caller } from '../accounts/caller.ts'
import { shownTime } from './shownTime.ts'

type Item = InferOutput<typeof InboxItem>
interface Filter {
  kind?: InboxKind
  projectId?: number
}

/**
 * A page of the caller's inbox, and how many items are unread. Items that depend on the state of a card are derived, so that an item
 * ends with its cause. Only the marks of users, comments and assignments are stored.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function list(
  db: Reader,
  caller: Caller,
  now: string,
  { state, limit, cursor = 0, ...filter }: Filter & { state: Item['state'] | 'open'; limit: number; cursor?: number },
): Promise<{ items: Item[]; nextCursor: string | null; unread: number }> {
  const rows = await read(db, caller, now, filter)
  const isListed = (row: InboxRow) => matches(row, filter) && (state === 'open' ? isOpen(row) : row.state === state)
  const listed = rows.filter(isListed)
  return {
    items: listed.slice(cursor, cursor + limit).map(view),
    nextCursor: listed.length > cursor + limit ? String(cursor + limit) : null,
    unread: rows.filter(row => row.state === 'unread').length,
  }
}

/**
 * The events that can add items to inboxes or end them. `card.updated`, which is frequent, is not one of them: a changed due date
 * appears when the client next polls.
 */
export const inboxEventTypes: ReadonlySet<EventType> = new Set([
  'agent.status',
  'card.moved',
  'card.archived',
  'card.unarchived',
  'card.restored',
  'card.merged',
  'card.deleted',
  'card.assigned',
  'comment.created',
  'comment.updated',
  'comment.deleted',
  'monitor.created',
  'monitor.updated',
  'monitor.deleted',
  'proof.updated',
  'review.submitted',
  'project.deleted',
])

interface Mark extends Filter {
  ids?: readonly string[]
  createdUntil?: string
  state: Item['state']
  snoozedUntil?: string
}

/**
 * Sets the state of items in the caller's inbox, and returns their IDs.
 * @throws Problem PROJECT_NOT_FOUND, VALIDATION_FAILED if `snoozedUntil` is in the past
 */
export async function mark(
  tx: Transaction,
  caller: Caller,
  { ids, state, ...change }: Mark,
): Promise<{ ids: string[] }> {
  const { snoozedUntil = null, createdUntil, ...filter } = change
  if (snoozedUntil !== null && snoozedUntil <= tx.now) throw invalid('snoozedUntil', 'must be in the future')
  const wanted = ids && new Set(ids)
  const items = (await read(tx, caller, tx.now, filter)).filter(
    row =>
      matches(row, filter) &&
      (wanted ? wanted.has(idOf(row)) && (state !== 'read' || isOpen(row)) : isOpen(row)) &&
      (createdUntil === undefined || row.createdAt <= createdUntil),
  )
  const changed = items.filter(row => row.state !== state || row.snoozedUntil !== snoozedUntil)
  if (state === 'unread') unmarkItems(tx, caller.userId, changed)
  else markItems(tx, caller.userId, changed, { isDone: state === 'done', snoozedUntil })
  if (changed.length > 0) await appendEvent(tx, 'inbox.updated', null, { userId: String(caller.userId) })
  return { ids: items.map(idOf) }
}

async function read(db: Reader, caller: Caller, now: string, { projectId }: Filter): Promise<InboxRow[]> {
  if (projectId !== undefined && !(await projectRole(db, caller, projectId))) throw new Problem('PROJECT_NOT_FOUND')
  return listInbox(db, caller.userId, isAdmin(caller), now)
}

const isOpen = ({ state }: InboxRow): boolean => state === 'unread' || state === 'read'
const matches = (row: InboxRow, { kind, projectId }: Filter): boolean =>
  (kind === undefined || row.kind === kind) && (projectId === undefined || row.projectId === projectId)

/** Notes a comment for the accounts that it mentions and for the watchers of its card, except its author. */
export function noteComment(
  tx: Transaction,
  { id: commentId, cardId, authorId, authorName }: CommentRow,
  mentioned: readonly number[],
  watching: readonly number[],
): void {
  const note = { cardId, commentId, authorName }
  const others = watching.filter(id => !mentioned.includes(id))
  noteInInbox(
    tx,
    mentioned.filter(id => id !== authorId),
    { ...note, kind: 'mention' },
  )
  noteInInbox(
    tx,
    others.filter(id => id !== authorId),
    { ...note, kind: 'comment' },
  )
}

/** Notes an assignment for the new assignees, except the user who assigned the card. */
export const noteAssignment = (
  tx: Transaction,
  cardId: number,
  assignedIds: readonly number[],
  by: Pick<Caller, 'userId' | 'displayName'> | undefined,
): void =>
  noteInInbox(
    tx,
    assignedIds.filter(id => id !== by?.userId),
    { cardId, kind: 'assigned', commentId: null, authorName: by?.displayName ?? '' },
  )

const idOf = ({ kind, cardId }: InboxRow): string => `${kind}-${cardId}`

const view = (row: InboxRow): Item => ({
  id: idOf(row),
  kind: row.kind,
  projectId: String(row.projectId),
  projectName: row.projectName,
  cardId: String(row.cardId),
  cardTitle: row.cardTitle,
  cardStatus: row.cardStatus,
  cardStatusReason: row.cardStatusReason,
  text: textOf(row),
  createdAt: row.createdAt,
  state: row.state,
  snoozedUntil: row.state === 'snoozed' ? row.snoozedUntil : null,
})

function textOf({ kind, authorName, body, dueAt, createdAt }: InboxRow): string {
  if (kind === 'due') return `The card ${createdAt === dueAt ? 'was' : 'is'} due at ${shownTime(dueAt!)}.`
  if (kind === 'assigned')
    return authorName ? `${authorName} assigned the card to you.` : 'The card is assigned to you.'
  if (kind === 'mention' || kind === 'comment') return `${authorName}: ${plainMentions(body ?? '')}`
  return body ?? ''
}
