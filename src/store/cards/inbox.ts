import { isOwn } from '../agents/sessionPurposes.ts'
import type { StatusReason } from '../../contract/agents/agents.ts'
import type { InboxKind } from '../../contract/cards/inboxKinds.ts'
import type { CardStatus } from '../../contract/fields.ts'
import { localOperator } from '../accounts/users.ts'
import type { Reader, Transaction } from '../engine/database.ts'

/** An item of an account's inbox. */
export interface InboxRow {
  kind: InboxKind
  cardId: number
  projectId: number
  projectName: string
  cardTitle: string
  cardStatus: CardStatus
  cardStatusReason: StatusReason | null
  /** Who commented or assigned the card. Null for other kinds. */
  authorName: string | null
  /** The text of the question, failure, summary or comment. Null if there is none. */
  body: string | null
  dueAt: string | null
  createdAt: string
  state: 'unread' | 'read' | 'snoozed' | 'done'
  snoozedUntil: string | null
}

/** Comments, mentions and assignments leave the inbox after this time. */
const keptDays = 90
const maxBodyLength = 2000

/** SQL of the projects that the account ?1 can see (all if ?3), and whether the account works on them. */
const visible = `SELECT p.id, p.name, p.owner_id = ?1 OR coalesce(m.role IN ('member', 'admin'), 0) AS works FROM projects p
  LEFT JOIN project_members m ON m.project_id = p.id AND m.user_id = ?1
  LEFT JOIN organization_members o ON o.organization_id = p.organization_id AND o.user_id = ?1
  WHERE p.hidden = 0 AND (?3 OR p.owner_id = ?1 OR m.role IS NOT NULL OR o.role IS NOT NULL)`

/** SQL of the condition of the index cards_in_inboxes. */
const isOpen = `c.kind = 'kanban' AND c.deleted_at IS NULL AND c.archived_at IS NULL AND c.done_at IS NULL
  AND (c.status IN ('waiting', 'failed', 'interrupted', 'completed') OR c.monitor_questions > 0 OR c.due_at IS NOT NULL)`
const isWatched = `(c.creator_id IS ?1 OR EXISTS (SELECT 1 FROM card_assignees a WHERE a.user_id = ?1 AND a.card_id = c.id))`
/** SQL of the account's choice to watch a card, with a default. */
const watchChoice = (otherwise: string) =>
  `(c.watch_choices <> '{}' AND coalesce(c.watch_choices ->> ('$."' || CAST(?1 AS INTEGER) || '"'), ${otherwise}) OR c.watch_choices = '{}' AND ${otherwise})`

const lastAction = (field: string, type: string) =>
  `iif(c.last_agent_action ->> '$.type' = '${type}', c.last_agent_action ->> '$.${field}', NULL)`
const askedMonitor = (field: string) =>
  `(SELECT ${field} FROM monitors WHERE card_id = c.id AND permission = 'asked' ORDER BY id LIMIT 1)`
/** SQL of the kind that follows from the state of a card. Null if the card needs no user. */
const stateKind = `CASE WHEN c.monitor_questions > 0 THEN 'question'
  WHEN c.status = 'waiting' THEN CASE c.status_reason WHEN 'silent' THEN 'silent' WHEN 'budget' THEN 'budget' ELSE 'question' END
  WHEN c.status IN ('failed', 'interrupted') THEN 'failed'
  WHEN c.status = 'completed' AND c.status_reason = 'gate' THEN 'gate'
  WHEN c.status = 'completed' AND c.status_reason = 'landing' THEN NULL
  WHEN c.status = 'completed' AND c.merged_at IS NULL AND c.review_state IS NOT 'approved' THEN 'review' END`
const stateBody = `CASE WHEN c.status = 'waiting' THEN ${lastAction('detail', 'waiting')}
  WHEN c.monitor_questions > 0 THEN '$ ' || ${askedMonitor('command')}
  WHEN c.status = 'completed' AND c.status_reason IS NULL
    THEN (SELECT summary FROM agent_sessions WHERE card_id = c.id AND ${isOwn('purpose')} ORDER BY id DESC LIMIT 1)
  ELSE c.last_agent_action ->> '$.detail' END`
const stateTime = `coalesce(CASE WHEN c.status = 'waiting' THEN ${lastAction('at', 'waiting')}
  WHEN c.monitor_questions > 0 THEN ${askedMonitor('created_at')} ELSE c.ended_at END, c.started_at, c.created_at)`

/**
 * SQL of all items. CROSS JOIN keeps the engine from scanning the cards of other projects. ?1: the account, ?2: the current time, ?3: whether it sees all projects, ?4: the time of the oldest note, ?5: the time
 * before which due cards are items.
 */
const items = `WITH visible AS MATERIALIZED (${visible}),
  noted AS (SELECT kind, card_id, comment_id, author_name, at FROM inbox_notes WHERE user_id = ?1 AND at > ?4)
  SELECT ${stateKind} AS kind, c.id AS cardId, v.id AS projectId, v.name AS projectName, NULL AS authorName, ${stateBody} AS body, NULL AS dueAt, ${stateTime} AS createdAt
  FROM visible v CROSS JOIN cards c INDEXED BY cards_in_inboxes ON c.project_id = v.id
  WHERE ${isOpen} AND ${stateKind} IS NOT NULL AND ${watchChoice(`(v.works OR ${isWatched})`)}
  UNION ALL
  SELECT 'due', c.id, v.id, v.name, NULL, NULL, c.due_at, iif(c.due_at <= ?2, c.due_at, strftime('%Y-%m-%dT%H:%M:%fZ', c.due_at, '-1 day'))
  FROM visible v CROSS JOIN cards c INDEXED BY cards_in_inboxes ON c.project_id = v.id
  WHERE ${isOpen} AND c.due_at <= ?5 AND ${watchChoice(isWatched)}
  UNION ALL
  SELECT n.kind, c.id, v.id, v.name, n.author_name, k.body, NULL, n.at
  FROM noted n CROSS JOIN cards c ON c.id = n.card_id AND c.deleted_at IS NULL JOIN visible v ON v.id = c.project_id LEFT JOIN comments k ON k.id = n.comment_id
  WHERE n.kind <> 'assigned' OR (c.done_at IS NULL AND c.archived_at IS NULL AND EXISTS (SELECT 1 FROM card_assignees a WHERE a.user_id = ?1 AND a.card_id = c.id))`

const inboxSql = `SELECT i.kind, i.cardId, i.projectId, i.projectName, c.title AS cardTitle, c.status AS cardStatus, c.status_reason AS cardStatusReason, i.authorName,
  substr(i.body, 1, ${maxBodyLength}) AS body, i.dueAt, i.createdAt, m.snoozed_until AS snoozedUntil,
  CASE WHEN m.item_at IS NULL OR m.snoozed_until <= ?2 THEN 'unread' WHEN m.done THEN 'done' WHEN m.snoozed_until IS NOT NULL THEN 'snoozed' ELSE 'read' END AS state
  FROM (${items}) i CROSS JOIN cards c ON c.id = i.cardId
  LEFT JOIN inbox_marks m ON m.user_id = ?1 AND m.card_id = i.cardId AND m.kind = i.kind AND m.item_at >= i.createdAt
  ORDER BY max(i.createdAt, coalesce(m.snoozed_until, '')) DESC, i.cardId DESC, i.kind`

/** The inbox of an account in each state, newest first. An item whose snooze ended counts from that time. */
export const listInbox = (db: Reader, userId: number, seesAll: boolean, now: string): Promise<InboxRow[]> =>
  db.all(inboxSql, [userId, now, seesAll ? 1 : 0, shift(now, -keptDays), shift(now, 1)])

const shift = (time: string, days: number) => new Date(Date.parse(time) + days * 86_400_000).toISOString()

/** Notes a comment, a mention or an assignment for accounts. It replaces the earlier one of its kind on the card. */
export function noteInInbox(
  tx: Transaction,
  userIds: readonly number[],
  note: { cardId: number; kind: 'mention' | 'comment' | 'assigned'; commentId: number | null; authorName: string },
): void {
  if (userIds.length > 0)
    tx.enqueue(
      `INSERT INTO inbox_notes (user_id, card_id, kind, comment_id, author_name, at)
       SELECT value, ?2, ?3, ?4, ?5, ?6 FROM json_each(?1) WHERE value = ${localOperator} OR EXISTS (SELECT 1 FROM users WHERE id = value)
       ON CONFLICT DO UPDATE SET comment_id = excluded.comment_id, author_name = excluded.author_name, at = excluded.at`,
      [JSON.stringify(userIds), note.cardId, note.kind, note.commentId, note.authorName, tx.now],
    )
}

/** Removes the mentions of a comment, except those of the given accounts. */
export const dropMentions = (tx: Transaction, commentId: number, userIds: readonly number[]): void =>
  tx.enqueue(
    `DELETE FROM inbox_notes WHERE comment_id = ? AND kind = 'mention' AND user_id NOT IN (SELECT value FROM json_each(?))`,
    [commentId, JSON.stringify(userIds)],
  )

type Marked = Pick<InboxRow, 'cardId' | 'kind' | 'createdAt'>
const listOf = (items: readonly Marked[]) =>
  JSON.stringify(items.map(({ cardId, kind, createdAt }) => [cardId, kind, createdAt]))

/** Marks items as seen. */
export const markItems = (
  tx: Transaction,
  userId: number,
  items: readonly Marked[],
  { isDone, snoozedUntil }: { isDone: boolean; snoozedUntil: string | null },
): void =>
  tx.enqueue(
    `INSERT INTO inbox_marks (user_id, card_id, kind, item_at, done, snoozed_until)
     SELECT ?1, value ->> 0, value ->> 1, value ->> 2, ?3, ?4 FROM json_each(?2) WHERE true
     ON CONFLICT DO UPDATE SET item_at = excluded.item_at, done = excluded.done, snoozed_until = excluded.snoozed_until`,
    [userId, listOf(items), isDone ? 1 : 0, snoozedUntil],
  )

/** Removes the marks of items, which are unread again. */
export const unmarkItems = (tx: Transaction, userId: number, items: readonly Marked[]): void =>
  tx.enqueue(
    'DELETE FROM inbox_marks WHERE user_id = ?1 AND (card_id, kind) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?2))',
    [userId, listOf(items)],
  )
