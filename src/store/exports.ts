import { cardFields } from './cardFields.ts'
import type { Reader } from './database.ts'
import { placeJoins } from './order.ts'
import { defineRecord } from './record.ts'
import type { MessageRow } from './transcripts.ts'

/** A row of an export: its id, and its record as JSON text, made by the database, which costs a third of making it here. */
export interface ExportRow {
  id: number
  json: string
}
/** A message of an export, and the session that still has to be told it. */
export interface ExportMessage extends MessageRow {
  waitingSessionId: number | null
}

const page =
  (sql: string, limit: number) =>
  (db: Reader, projectId: number, after: number): Promise<ExportRow[]> =>
    db.all(`${sql} LIMIT ${limit}`, [projectId, after])

export const exportedProject = (db: Reader, id: number): Promise<ExportRow | undefined> =>
  db.get(
    `SELECT p.id, json_object('id', p.id, 'name', p.name, 'path', p.path, 'agent', p.agent, 'copiedFiles', json(p.copied_files),
    'tokens', json_object('total', coalesce(t.total, 0), 'sessions', coalesce(t.sessions, 0)), 'createdAt', p.created_at, 'updatedAt', p.updated_at) AS json
   FROM projects p LEFT JOIN project_tokens t ON t.project_id = p.id WHERE p.id = ?`,
    [id],
  )

/** The project's owner, its members and those who are invited, by address. */
export const exportedMembers = (db: Reader, projectId: number): Promise<ExportRow[]> =>
  db.all(
    `SELECT 0 AS id, json_object('projectId', ?1, 'email', u.email, 'displayName', u.display_name, 'role', m.role, 'invited', json('false')) AS json
   FROM (SELECT owner_id AS user_id, 'owner' AS role FROM projects WHERE id = ?1 UNION ALL SELECT user_id, role FROM project_members WHERE project_id = ?1) m JOIN users u ON u.id = m.user_id
   UNION ALL SELECT 0, json_object('projectId', ?1, 'email', email, 'displayName', '', 'role', role, 'invited', json('true')) FROM invitations WHERE project_id = ?1`,
    [projectId],
  )

export const exportedBoards = page(
  `SELECT id, json_object('id', id, 'projectId', project_id, 'name', name, 'position', position, 'createdAt', created_at) AS json FROM boards WHERE project_id = ? AND id > ? ORDER BY id`,
  100,
)

export const exportedColumns = page(
  `SELECT id, json_object('id', id, 'boardId', board_id, 'name', name, 'columnType', column_type, 'prompt', prompt, 'agent', agent, 'position', position) AS json FROM columns WHERE project_id = ? AND id > ? ORDER BY id`,
  100,
)

export const exportedScripts = (db: Reader, projectId: number): Promise<ExportRow[]> =>
  db.all(
    `SELECT id, json_object('projectId', project_id, 'name', name, 'command', command) AS json FROM scripts WHERE project_id = ? ORDER BY position`,
    [projectId],
  )

/** At most 5,000 ids of a board's cards after one, ascending: deleted cards are left out. */
export const exportedCardIds = async (db: Reader, boardId: number, after: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      'SELECT id FROM cards WHERE board_id = ? AND id > ? AND deleted_at IS NULL ORDER BY id LIMIT 5000',
      [boardId, after],
    )
  ).map(({ id }) => id)

/** Reads the records of cards by their ids, in that order, with the fields of the names. Steps whose column is gone are nobody's any more; a worktree stays where it is. */
export function exportCards(
  names: ReadonlyArray<keyof typeof cardFields>,
): (db: Reader, ids: readonly number[]) => Promise<ExportRow[]> {
  const sql = `SELECT c.id, ${defineRecord('cards', 'c', cardFields).jsonOf(names, 'integer', { pipeline: presentSteps, baseCommit: `nullif(c.base_commit, '')` })} AS json
   FROM json_each(?) i JOIN cards c ON c.id = i.value ${placeJoins} ORDER BY i.key`
  return (db, ids) => db.all(sql, [JSON.stringify(ids)])
}
const presentSteps = `(SELECT json_group_array(json(step)) FROM (SELECT j.value AS step FROM json_each(c.pipeline) j
    WHERE EXISTS (SELECT 1 FROM columns WHERE id = json_extract(j.value, '$.columnId') AND project_id = c.project_id) ORDER BY j.key))`

const ofCards = 'JOIN cards c ON c.id = s.card_id AND c.deleted_at IS NULL'
/** Without `costUsd`: the database cannot write a fraction exactly. */
export const exportedSessions = (
  db: Reader,
  projectId: number,
  after: number,
): Promise<Array<ExportRow & { costUsd: number | null }>> =>
  db.all(
    `SELECT s.id, s.cost_usd AS costUsd, json_object('id', s.id, 'cardId', s.card_id, 'purpose', s.purpose, 'agent', s.agent, 'status', s.status, 'statusReason', s.status_reason, 'detail', s.detail, 'model', s.model,
    'inputTokens', s.input_tokens, 'outputTokens', s.output_tokens, 'contextUsed', s.context_used, 'contextSize', s.context_size, 'summary', s.summary, 'prompt', s.prompt,
    'baseCommit', nullif(s.base_commit, ''), 'branch', s.branch, 'messages', s.message_count, 'toolCalls', s.tool_count, 'filesChanged', s.files_changed, 'createdAt', s.created_at, 'startedAt', s.started_at, 'endedAt', s.ended_at) AS json
   FROM agent_sessions s ${ofCards} WHERE s.project_id = ? AND s.id > ? ORDER BY s.id LIMIT 100`,
    [projectId, after],
  )

/** Messages after the `after`th of the session, oldest first. */
export const exportedMessages = (db: Reader, sessionId: number, after: number): Promise<ExportMessage[]> =>
  db.all(
    `SELECT m.id, m.session_id AS sessionId, m.role, m.call_id AS callId, m.at, (SELECT w.session_id FROM waiting_messages w WHERE w.message_id = m.id) AS waitingSessionId,
    '[' || coalesce((SELECT group_concat(data) FROM (SELECT data FROM transcript_pieces p WHERE p.message_id = m.id ORDER BY p.number)), '') || ']' AS pieces
   FROM transcript_messages m WHERE m.session_id = ? AND m.id > ? ORDER BY m.id LIMIT 50`,
    [sessionId, after],
  )

/** The sessions after one that have messages. */
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
/** The attachments of these cards. */
export const exportedAttachments = (db: Reader, cardIds: readonly number[]): Promise<ExportAttachment[]> =>
  db.all(
    `SELECT a.id, a.size, a.sha256, a.stored_as AS storedAs, json_object('id', a.id, 'cardId', a.card_id, 'filename', a.filename, 'contentType', a.content_type, 'size', a.size, 'sha256', a.sha256, 'createdAt', a.created_at) AS json
   FROM json_each(?) i JOIN attachments a ON a.card_id = i.value ORDER BY i.key, a.id`,
    [JSON.stringify(cardIds)],
  )

/** The templates of an organization's people that the exporting account may see. */
export const exportedTemplates = (db: Reader, organizationId: number, userId: number): Promise<ExportRow[]> =>
  db.all(
    `SELECT t.id, json_object('name', t.name, 'columns', json(t.columns)) AS json FROM board_templates t JOIN organization_members m ON m.user_id = t.user_id AND m.organization_id = ? WHERE t.builtin = 0 AND (t.shared = 1 OR t.user_id = ?) ORDER BY t.id`,
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
