import { activityFields } from '../cards/activity.ts'
import { attachmentFields } from '../cards/attachments.ts'
import { boardFields } from '../boards/boards.ts'
import { cardFields } from '../cards/cardFields.ts'
import { columnFields } from '../boards/columns.ts'
import { commentFields } from '../cards/comments.ts'
import type { Reader } from '../engine/database.ts'
import { placeJoins } from '../cards/order.ts'
import { projectFields } from './projects.ts'
import { defineRecord, flag, json } from '../engine/record.ts'
import { reviewCommentFields, reviewFields } from '../forges/reviews.ts'
import { gateFields } from '../boards/gates.ts'
import { scriptFields } from '../automation/scripts.ts'
import { sessionFields } from '../agents/sessions.ts'
import { templateFields } from '../boards/templates.ts'
import type { MessageRow } from '../agents/transcripts.ts'

/**
 * A row of an export: its ID, and its record as JSON text. Generating the text in the database takes a third of the time that it
 * takes here.
 */
export interface ExportRow {
  id: number
  json: string
}
export interface ExportMessage extends MessageRow {
  waitingSessionId: number | null
}

type ReadPage = (db: Reader, projectId: number, after: number) => Promise<ExportRow[]>
const page =
  (sql: string, limit: number): ReadPage =>
  (db, projectId, after) =>
    db.all(`${sql} LIMIT ${limit}`, [projectId, after])

/** Reads a project with the named fields, and the usage of its agents. */
export function exportProject(
  names: ReadonlyArray<keyof typeof projectFields | 'tokens'>,
): (db: Reader, id: number) => Promise<ExportRow | undefined> {
  const fields = { ...projectFields, tokens: json().computed(usedTokens) }
  const sql = `SELECT p.id, ${defineRecord('projects', 'p', fields).jsonOf(names, 'integer')} AS json
   FROM projects p LEFT JOIN project_tokens t ON t.project_id = p.id WHERE p.id = ?`
  return (db, id) => db.get(sql, [id])
}
const usedTokens = `json_object('total', coalesce(t.total, 0), 'sessions', coalesce(t.sessions, 0))`

/** The project's owner, its members and its invited users, by address. */
export const exportedMembers = (db: Reader, projectId: number): Promise<ExportRow[]> =>
  db.all(
    `SELECT 0 AS id, json_object('projectId', ?1, 'email', u.email, 'displayName', u.display_name, 'role', m.role, 'invited', json('false')) AS json
   FROM (SELECT owner_id AS user_id, 'owner' AS role FROM projects WHERE id = ?1 UNION ALL SELECT user_id, role FROM project_members WHERE project_id = ?1) m JOIN users u ON u.id = m.user_id
   UNION ALL SELECT 0, json_object('projectId', ?1, 'email', email, 'displayName', '', 'role', role, 'invited', json('true')) FROM invitations WHERE project_id = ?1`,
    [projectId],
  )

/** Reads pages of a project's boards, with the named fields. */
export const exportBoards = (names: ReadonlyArray<keyof typeof boardFields>): ReadPage =>
  page(
    `SELECT b.id, ${defineRecord('boards', 'b', boardFields).jsonOf(names, 'integer')} AS json FROM boards b WHERE b.project_id = ? AND b.id > ? ORDER BY b.id`,
    100,
  )

/** Reads pages of a project's columns, with the named fields. */
export const exportColumns = (names: ReadonlyArray<keyof typeof columnFields>): ReadPage =>
  page(
    `SELECT c.id, ${defineRecord('columns', 'c', columnFields).jsonOf(names, 'integer')} AS json FROM columns c WHERE c.project_id = ? AND c.id > ? ORDER BY c.id`,
    100,
  )

const gates = defineRecord('gates', 'g', gateFields)
const gatePlace = ['projectId', 'columnId', 'name', 'kind'] as const
export const exportedGates = (db: Reader, projectId: number): Promise<ExportRow[]> =>
  db.all(
    `SELECT g.id, CASE g.kind
       WHEN 'command' THEN ${gates.jsonOf([...gatePlace, 'command', 'minutes'], 'integer')}
       WHEN 'review' THEN ${gates.jsonOf([...gatePlace, 'agent', 'profile', 'prompt', 'minutes'], 'integer')}
       ELSE ${gates.jsonOf([...gatePlace, 'approvals', 'approverRole'], 'integer', { approverRole: "iif(g.approver_ids = '[]', g.approver_role, 'admin')" })} END AS json
     FROM gates g WHERE g.project_id = ? ORDER BY g.position`,
    [projectId],
  )

const scripts = defineRecord('scripts', 's', scriptFields)
export const exportedScripts = (db: Reader, projectId: number): Promise<ExportRow[]> =>
  db.all(
    `SELECT s.id, ${scripts.jsonOf(['projectId', 'name', 'command'], 'integer')} AS json FROM scripts s WHERE s.project_id = ? ORDER BY s.position`,
    [projectId],
  )

/** A project's schedules, without their assignees, and without columns that were deleted. */
export const exportedSchedules = (db: Reader, projectId: number): Promise<ExportRow[]> =>
  db.all(
    `SELECT s.id, json_object('projectId', s.project_id, 'name', s.name, 'cron', s.cron, 'everySecs', s.every_secs, 'timeZone', s.time_zone,
      'template', json(json_set(json_remove(s.template, '$.assigneeIds'), '$.columnId', (SELECT c.id FROM columns c WHERE c.id = json_extract(s.template, '$.columnId')))),
      'overlap', s.overlap, 'catchUp', s.catch_up, 'createdAt', s.created_at) AS json
     FROM schedules s WHERE s.project_id = ? ORDER BY s.id`,
    [projectId],
  )

/** Up to 5,000 IDs of a board's cards above `after`, ascending, without deleted cards. */
export const exportedCardIds = async (db: Reader, boardId: number, after: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      'SELECT id FROM cards WHERE board_id = ? AND id > ? AND deleted_at IS NULL ORDER BY id LIMIT 5000',
      [boardId, after],
    )
  ).map(({ id }) => id)

/**
 * Reads the records of cards by their IDs, in that order, with the named fields. Omits steps whose column was deleted, and
 * worktrees.
 */
export function exportCards(
  names: ReadonlyArray<keyof typeof cardFields>,
): (db: Reader, ids: readonly number[]) => Promise<ExportRow[]> {
  const sql = `SELECT c.id, ${defineRecord('cards', 'c', cardFields).jsonOf(names, 'integer', { pipeline: presentSteps, assignees: assigneeNames, baseCommit: `nullif(c.base_commit, '')` })} AS json
   FROM json_each(?) i JOIN cards c ON c.id = i.value ${placeJoins} ORDER BY i.key`
  return (db, ids) => db.all(sql, [JSON.stringify(ids)])
}
const assigneeNames = `iif(c.assignees = '[]', json('[]'), (SELECT json_group_array(json_object('name', coalesce(json_extract(value, '$.displayName'), json_extract(value, '$.name'))))
    FROM (SELECT value FROM json_each(c.assignees) ORDER BY key)))`
const presentSteps = `(SELECT json_group_array(json(step)) FROM (SELECT j.value AS step FROM json_each(c.pipeline) j
    WHERE EXISTS (SELECT 1 FROM columns WHERE id = json_extract(j.value, '$.columnId') AND project_id = c.project_id) ORDER BY j.key))`

/**
 * The relations of the given cards: their blockers, parent, base card, and the card on which they were found. In the order of `ids`,
 * without cards in the trash and cards without relations.
 */
export const exportDependencies = (db: Reader, ids: readonly number[]): Promise<ExportRow[]> =>
  db.all(dependencies, [JSON.stringify(ids)])
const present = (id: string) => `(SELECT o.id FROM cards o WHERE o.id = ${id} AND o.deleted_at IS NULL)`
const dependencies = `SELECT id, json_object('cardId', id, 'blockedBy', json(blockedBy), 'parentId', parentId, 'discoveredFromId', discoveredFromId, 'baseCardId', baseCardId) AS json FROM (
    SELECT i.key AS place, c.id, ${present('c.parent_id')} AS parentId, ${present('c.discovered_from_id')} AS discoveredFromId, ${present('c.base_card_id')} AS baseCardId,
      (SELECT json_group_array(b.id) FROM (SELECT o.id FROM card_blockers d JOIN cards o ON o.id = d.blocker_id
        WHERE d.card_id = c.id AND o.deleted_at IS NULL ORDER BY o.id) b) AS blockedBy
    FROM json_each(?) i JOIN cards c ON c.id = i.value
  ) WHERE blockedBy <> '[]' OR parentId IS NOT NULL OR discoveredFromId IS NOT NULL OR baseCardId IS NOT NULL ORDER BY place`

const ofCards = 'JOIN cards c ON c.id = s.card_id AND c.deleted_at IS NULL'
/**
 * Reads pages of a project's sessions, with the named fields. Reads `costUsd` separately, because the database cannot write a fraction
 * exactly.
 */
export function exportSessions(
  names: ReadonlyArray<keyof typeof sessionFields>,
): (db: Reader, projectId: number, after: number) => Promise<Array<ExportRow & { costUsd: number | null }>> {
  const json = defineRecord('agent_sessions', 's', sessionFields).jsonOf(
    names.filter(name => name !== 'costUsd'),
    'integer',
    { baseCommit: `nullif(s.base_commit, '')` },
  )
  const sql = `SELECT s.id, s.cost_usd AS costUsd, ${json} AS json
   FROM agent_sessions s ${ofCards} WHERE s.project_id = ? AND s.id > ? ORDER BY s.id LIMIT 100`
  return (db, projectId, after) => db.all(sql, [projectId, after])
}

/** At most 50 messages of a session with IDs above `after`, oldest first. */
export const exportedMessages = (db: Reader, sessionId: number, after: number): Promise<ExportMessage[]> =>
  db.all(
    `SELECT m.id, m.session_id AS sessionId, m.role, m.call_id AS callId, m.at, m.attachments, (SELECT w.session_id FROM waiting_messages w WHERE w.message_id = m.id) AS waitingSessionId,
    '[' || coalesce((SELECT group_concat(data) FROM (SELECT data FROM transcript_pieces p WHERE p.message_id = m.id ORDER BY p.number)), '') || ']' AS pieces
   FROM transcript_messages m WHERE m.session_id = ? AND m.id > ? ORDER BY m.id LIMIT 50`,
    [sessionId, after],
  )

/** At most 500 sessions with messages and with IDs above `after`. */
export const sessionsWithMessages = (db: Reader, projectId: number, after: number): Promise<Array<{ id: number }>> =>
  db.all(
    `SELECT s.id FROM agent_sessions s ${ofCards} WHERE s.project_id = ? AND s.id > ? AND EXISTS (SELECT 1 FROM transcript_messages WHERE session_id = s.id) ORDER BY s.id LIMIT 500`,
    [projectId, after],
  )

export interface ExportAttachment extends ExportRow {
  size: number
  sha256: string
  storedAs: string
}
/** Reads the attachments of cards, with the named fields. */
export function exportAttachments(
  names: ReadonlyArray<keyof typeof attachmentFields>,
): (db: Reader, cardIds: readonly number[]) => Promise<ExportAttachment[]> {
  const record = defineRecord('attachments', 'a', attachmentFields)
  const sql = `SELECT ${record.columnsOf(['id', 'size', 'sha256', 'storedAs'])}, ${record.jsonOf(names, 'integer')} AS json
   FROM json_each(?) i JOIN attachments a ON a.card_id = i.value ORDER BY i.key, a.id`
  return (db, cardIds) => db.all(sql, [JSON.stringify(cardIds)])
}

const reviewComment = defineRecord('review_comments', 'm', reviewCommentFields)
/** Reads the reviews of cards, with the named fields, and their comments in order. */
export function exportReviews(
  names: ReadonlyArray<keyof typeof reviewFields | 'comments'>,
  commentNames: ReadonlyArray<keyof typeof reviewCommentFields>,
): (db: Reader, cardIds: readonly number[]) => Promise<ExportRow[]> {
  const comments = `(SELECT json_group_array(json(item)) FROM (SELECT ${reviewComment.jsonOf(commentNames, 'integer')} AS item
    FROM review_comments m WHERE m.review_id = r.id ORDER BY m.id))`
  const record = defineRecord('reviews', 'r', { ...reviewFields, comments: json().computed(comments) })
  const sql = `SELECT r.id, ${record.jsonOf(names, 'integer')} AS json
   FROM json_each(?) i JOIN reviews r ON r.card_id = i.value ORDER BY i.key, r.id`
  return (db, cardIds) => db.all(sql, [JSON.stringify(cardIds)])
}

/** Reads the comments on cards, with the named fields, oldest first. */
export function exportComments(
  names: ReadonlyArray<keyof typeof commentFields | 'fromAgent'>,
): (db: Reader, cardIds: readonly number[]) => Promise<ExportRow[]> {
  const record = defineRecord('comments', 'k', {
    ...commentFields,
    fromAgent: flag().computed(`k.author_kind = 'agent'`),
  })
  const sql = `SELECT k.id, ${record.jsonOf(names, 'integer')} AS json
   FROM json_each(?) i JOIN comments k ON k.card_id = i.value ORDER BY i.key, k.id`
  return (db, cardIds) => db.all(sql, [JSON.stringify(cardIds)])
}

/** Reads the activity of cards after the entry with this ID, at most 2,000, with the named fields, oldest first. */
export function exportActivity(
  names: ReadonlyArray<keyof typeof activityFields>,
): (db: Reader, cardIds: readonly number[], after: number) => Promise<ExportRow[]> {
  const sql = `SELECT h.id, ${defineRecord('card_activity', 'h', activityFields).jsonOf(names, 'integer')} AS json
   FROM json_each(?) i JOIN card_activity h ON h.card_id = i.value AND h.id > ? ORDER BY h.id LIMIT 2000`
  return (db, cardIds, after) => db.all(sql, [JSON.stringify(cardIds), after])
}

const templates = defineRecord('board_templates', 't', templateFields)
/** The templates of an organization's members that the exporting account can see. */
export const exportedTemplates = (db: Reader, organizationId: number, userId: number): Promise<ExportRow[]> =>
  db.all(
    `SELECT t.id, ${templates.jsonOf(['name', 'columns'], 'integer')} AS json FROM board_templates t JOIN organization_members m ON m.user_id = t.user_id AND m.organization_id = ? WHERE t.builtin = 0 AND (t.shared = 1 OR t.user_id = ?) ORDER BY t.id`,
    [organizationId, userId],
  )

export const exportedOrganizationMembers = (db: Reader, organizationId: number): Promise<ExportRow[]> =>
  db.all(
    `SELECT 0 AS id, json_object('email', u.email, 'displayName', u.display_name, 'role', m.role) AS json FROM organization_members m JOIN users u ON u.id = m.user_id WHERE m.organization_id = ? ORDER BY u.id`,
    [organizationId],
  )

/** The projects of an organization, oldest first. */
export const organizationProjects = async (db: Reader, organizationId: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>('SELECT id FROM projects WHERE organization_id = ? AND hidden = 0 ORDER BY id', [
      organizationId,
    ])
  ).map(({ id }) => id)
