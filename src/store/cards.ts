import type { CardKind, CardStatus, ColumnType } from '../contract/fields.ts'
import type { Reader, Transaction } from './database.ts'
import { placeJoins, placeSql } from './order.ts'

/** A card with the names that its views need. Booleans are 0 and 1, `labels`, `pipeline` and `lastAgentAction` JSON text. */
export interface CardRow {
  id: number
  projectId: number
  boardId: number
  columnId: number
  chunkId: number | null
  columnName: string
  columnType: ColumnType
  position: number | null
  kind: CardKind
  groupId: string | null
  title: string
  prompt: string
  labels: string
  pipeline: string
  status: CardStatus
  statusReason: string | null
  unread: number
  deferred: number
  autoMode: number
  useWorktree: number
  gitBranch: string | null
  worktreePath: string | null
  worktreeManaged: number
  baseCommit: string | null
  lastAgentAction: string | null
  agent: string | null
  command: string | null
  credentialId: number | null
  createdAt: string
  updatedAt: string
  startedAt: string | null
  endedAt: string | null
  archivedAt: string | null
  deletedAt: string | null
  version: number
  /** JSON text of a card that was read alone: its open sessions as locks, and its latest sessions. */
  locks?: string
  sessions?: string
}
/** What a card's status is while an agent works on it. */
export const activeStatuses: readonly CardStatus[] = ['queued', 'running', 'waiting']
export interface CardFilter {
  projectId: number
  boardId?: number
  columnId?: number
  status?: CardStatus
  label?: string
  search?: string
  archived?: boolean
  kind?: 'kanban' | 'terminal'
  limit: number
  cursor?: number
}

const fields = `c.id, c.project_id AS projectId, c.board_id AS boardId, c.column_id AS columnId, c.chunk_id AS chunkId, l.name AS columnName, l.column_type AS columnType, ${placeSql} AS position,
  c.kind, c.group_id AS groupId, c.title, c.prompt, c.labels, c.pipeline, c.status, c.status_reason AS statusReason, c.unread, c.deferred, c.auto_mode AS autoMode, c.use_worktree AS useWorktree,
  c.git_branch AS gitBranch, c.worktree_path AS worktreePath, c.worktree_managed AS worktreeManaged, c.base_commit AS baseCommit, c.last_agent_action AS lastAgentAction, c.agent, c.command, c.credential_id AS credentialId,
  c.created_at AS createdAt, c.updated_at AS updatedAt, c.started_at AS startedAt, c.ended_at AS endedAt, c.archived_at AS archivedAt, c.deleted_at AS deletedAt, c.version`
/** JSON of a card's open sessions as locks and of its latest sessions, oldest first. A session that waits for its turn has been asked for, not begun. */
const locks = `(SELECT json_group_array(json_object('kind', iif(purpose = 'pre', 'pre-session', 'agent'), 'holder', agent, 'acquiredAt', coalesce(started_at, created_at))) FROM agent_sessions WHERE card_id = c.id AND ended_at IS NULL)`
const sessions = `(SELECT json_group_array(json_object('id', id, 'agent', agent, 'status', status, 'startedAt', coalesce(started_at, created_at), 'endedAt', ended_at, 'summary', summary))
    FROM (SELECT * FROM (SELECT * FROM agent_sessions WHERE card_id = c.id AND purpose <> 'pre' ORDER BY id DESC LIMIT 50) ORDER BY id))`
const sessionFields = `${locks} AS locks, ${sessions} AS sessions`
const from = `FROM cards c JOIN columns l ON l.id = c.column_id ${placeJoins}`
/** What external routes list and count. */
const listed = `c.deleted_at IS NULL AND c.archived_at IS NULL AND c.kind = 'kanban'`

// Made once: the engine finds a prepared statement by its text, and joining a text anew costs more than that.
const card = `SELECT ${fields}, ${sessionFields} ${from} WHERE c.id = ? AND c.project_id = ? AND c.deleted_at IS NULL`
export const readCard = (db: Reader, projectId: number, id: number): Promise<CardRow | undefined> =>
  db.get(card, [id, projectId])
export const readDeletedCard = (db: Reader, projectId: number, id: number): Promise<CardRow | undefined> =>
  db.get(
    `SELECT ${fields}, ${sessionFields} ${from} WHERE c.id = ? AND c.project_id = ? AND c.deleted_at IS NOT NULL`,
    [id, projectId],
  )
/** The card of a project's assistant, once there is one. */
export const readAssistantCard = (db: Reader, projectId: number): Promise<CardRow | undefined> =>
  db.get(
    `SELECT ${fields}, ${sessionFields} ${from} WHERE c.project_id = ? AND c.kind = 'assistant' AND c.deleted_at IS NULL ORDER BY c.id LIMIT 1`,
    [projectId],
  )
export const projectOfCard = async (db: Reader, id: number): Promise<number | undefined> =>
  (
    await db.get<{ projectId: number }>(
      'SELECT project_id AS projectId FROM cards WHERE id = ? AND deleted_at IS NULL',
      [id],
    )
  )?.projectId

export async function insertCard(
  tx: Transaction,
  card: Pick<
    CardRow,
    | 'projectId'
    | 'boardId'
    | 'columnId'
    | 'title'
    | 'prompt'
    | 'labels'
    | 'pipeline'
    | 'groupId'
    | 'archivedAt'
    | 'lastAgentAction'
  > &
    Partial<Pick<CardRow, 'kind' | 'agent' | 'command'>> & {
      deferred: boolean
      autoMode: boolean
      useWorktree: boolean
      unread: boolean
    },
): Promise<number> {
  const { lastId } = await tx.run(
    `INSERT INTO cards (project_id, board_id, column_id, title, prompt, labels, pipeline, group_id, deferred, auto_mode, use_worktree, unread, archived_at, last_agent_action, kind, agent, command, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      card.projectId,
      card.boardId,
      card.columnId,
      card.title,
      card.prompt,
      card.labels,
      card.pipeline,
      card.groupId,
      card.deferred,
      card.autoMode,
      card.useWorktree,
      card.unread,
      card.archivedAt,
      card.lastAgentAction,
      card.kind ?? 'kanban',
      card.agent,
      card.command,
      tx.now,
      tx.now,
    ],
  )
  return lastId
}

/** Database columns that a change of a card may name. */
const changeable = {
  chunkId: 'chunk_id',
  columnId: 'column_id',
  boardId: 'board_id',
  credentialId: 'credential_id',
  groupId: 'group_id',
  title: 'title',
  prompt: 'prompt',
  labels: 'labels',
  pipeline: 'pipeline',
  unread: 'unread',
  deferred: 'deferred',
  autoMode: 'auto_mode',
  useWorktree: 'use_worktree',
  gitBranch: 'git_branch',
  worktreePath: 'worktree_path',
  worktreeManaged: 'worktree_managed',
  baseCommit: 'base_commit',
  lastAgentAction: 'last_agent_action',
  status: 'status',
  statusReason: 'status_reason',
  startedAt: 'started_at',
  endedAt: 'ended_at',
  archivedAt: 'archived_at',
  deletedAt: 'deleted_at',
  agent: 'agent',
} as const
export type CardChange = { [Field in keyof typeof changeable]?: string | number | boolean | null }

/** Changes fields of a card; it becomes a new version. */
export async function updateCard(tx: Transaction, id: number, change: CardChange): Promise<void> {
  const names = Object.keys(change) as Array<keyof CardChange>
  const assignments = names.map(name => `${changeable[name]} = ?`).join(', ')
  tx.send(
    `UPDATE cards SET ${assignments}${names.length > 0 ? ', ' : ''}updated_at = ?, version = version + 1 WHERE id = ?`,
    [...names.map(name => change[name]), tx.now, id],
  )
}

/** Reading is no change: version and time stay. Tells whether the card was unread. */
export const markRead = async (tx: Transaction, id: number): Promise<boolean> =>
  (await tx.run('UPDATE cards SET unread = 0 WHERE id = ? AND unread = 1', [id])).changes > 0
/** Marks at most `limit` of a project's unread cards as read and tells their ids. */
export async function markSomeRead(tx: Transaction, projectId: number, limit: number): Promise<number[]> {
  const unread = await tx.all<{ id: number }>(
    'SELECT id FROM cards WHERE project_id = ? AND unread = 1 AND deleted_at IS NULL ORDER BY id LIMIT ?',
    [projectId, limit],
  )
  for (const { id } of unread) tx.send('UPDATE cards SET unread = 0 WHERE id = ?', [id])
  return unread.map(({ id }) => id)
}

/** Cards by id after the cursor. */
export function listCards(db: Reader, filter: CardFilter): Promise<CardRow[]> {
  const { where, args } = conditions(filter, shown(filter))
  return db.all(`SELECT ${fields} ${from} WHERE ${where} ORDER BY c.id LIMIT ?`, [...args, filter.limit])
}

/** The cards with these ids, in the order of the ids. */
export const readCards = (db: Reader, ids: readonly number[]): Promise<CardRow[]> =>
  db.all(
    `SELECT ${fields} FROM json_each(?) j JOIN cards c ON c.id = j.value JOIN columns l ON l.id = c.column_id ${placeJoins} WHERE c.deleted_at IS NULL ORDER BY j.key`,
    [JSON.stringify(ids)],
  )

/** A page of listed cards by id as JSON text, in the external view, made by the database: a third of the cost of objects, and group_concat of objects half of json_group_array. */
export async function listExternalJson(
  db: Reader,
  filter: CardFilter,
): Promise<{ items: string; nextCursor: number | null }> {
  const { where, args } = conditions(filter, listed)
  const page = (await db.get<{ items: string | null; lastId: number | null; more: number }>(
    `SELECT items, lastId, count = ? AND EXISTS (SELECT 1 FROM cards c WHERE ${where} AND c.id > lastId) AS more
     FROM (SELECT group_concat(item) AS items, max(id) AS lastId, count(*) AS count FROM (SELECT c.id, ${externalItem} AS item ${from} WHERE ${where} ORDER BY c.id LIMIT ?))`,
    [filter.limit, ...args, ...args, filter.limit],
  ))!
  return { items: `[${page.items ?? ''}]`, nextCursor: page.more === 1 ? page.lastId : null }
}

/** A card in the external view, and its version. */
export const readExternalJson = (
  db: Reader,
  projectId: number,
  id: number,
): Promise<{ json: string; version: number } | undefined> => db.get(externalCard, [id, projectId])

/** A page of cards by id as JSON text, in the internal view of lists. */
export async function listItemsJson(db: Reader, filter: CardFilter): Promise<string> {
  const { where, args } = conditions(filter, shown(filter))
  const { items } = (await db.get<{ items: string | null }>(
    `SELECT group_concat(item) AS items FROM (SELECT ${item} AS item ${from} WHERE ${where} ORDER BY c.id LIMIT ?)`,
    [...args, filter.limit],
  ))!
  return `[${items ?? ''}]`
}

const flag = (column: string) => `json(iif(${column}, 'true', 'false'))`
const externalFields = `'id', c.id, 'projectId', c.project_id, 'boardId', c.board_id, 'columnId', c.column_id, 'groupId', c.group_id, 'title', c.title, 'prompt', c.prompt, 'labels', json(c.labels),
  'status', c.status, 'statusReason', c.status_reason, 'position', ${placeSql}, 'unread', ${flag('c.unread')}, 'gitBranch', c.git_branch, 'useWorktree', ${flag('c.use_worktree')}, 'deferred', ${flag('c.deferred')},
  'lastAgentAction', json(c.last_agent_action), 'createdAt', c.created_at, 'updatedAt', c.updated_at, 'startedAt', c.started_at, 'endedAt', c.ended_at, 'version', c.version`
const externalItem = `json_object(${externalFields})`
const externalCard = `SELECT json_object(${externalFields}, 'locks', json(${locks}), 'sessions', json(${sessions})) AS json, c.version ${from} WHERE c.id = ? AND c.project_id = ? AND c.deleted_at IS NULL AND c.kind = 'kanban'`
const textId = (column: string) => `cast(${column} AS TEXT)`
const item = `json_object('id', ${textId('c.id')}, 'projectId', ${textId('c.project_id')}, 'boardId', ${textId('c.board_id')}, 'columnId', ${textId('c.column_id')}, 'columnName', l.name, 'groupId', c.group_id, 'title', c.title,
  'labels', json(c.labels), 'kind', c.kind, 'status', c.status, 'statusReason', c.status_reason, 'position', ${placeSql}, 'unread', ${flag('c.unread')}, 'deferred', ${flag('c.deferred')}, 'autoMode', ${flag('c.auto_mode')},
  'hasActiveAgent', ${flag(`c.status IN (${activeStatuses.map(status => `'${status}'`).join(', ')})`)}, 'archivedAt', c.archived_at, 'createdAt', c.created_at, 'updatedAt', c.updated_at, 'version', c.version)`

/** What internal lists show: those of a kind that are on the board, or the archived ones of any kind. */
const shown = ({ archived, kind }: CardFilter): string =>
  archived
    ? 'c.archived_at IS NOT NULL AND c.deleted_at IS NULL'
    : `c.archived_at IS NULL AND c.deleted_at IS NULL AND ${kind === 'terminal' ? `c.kind = 'terminal'` : `c.kind = 'kanban'`}`

function conditions(filter: CardFilter, visible: string): { where: string; args: Array<string | number> } {
  const parts: Array<[string, string | number | undefined]> = [
    ['c.project_id = ?', filter.projectId],
    ['c.column_id = ?', filter.columnId],
    ['c.board_id = ?', filter.boardId],
    ['c.status = ?', filter.status],
    ['instr(c.labels, ?) > 0', filter.label],
    [`c.title LIKE ? ESCAPE '\\'`, filter.search && `%${filter.search.replace(/[\\%_]/g, '\\$&')}%`],
    ['c.id > ?', filter.cursor ?? 0],
  ]
  const used = parts.filter((part): part is [string, string | number] => part[1] !== undefined)
  return { where: [visible, ...used.map(([sql]) => sql)].join(' AND '), args: used.map(([, arg]) => arg) }
}

export interface Counts {
  columnId: number
  name: string
  columnType: ColumnType
  status: CardStatus | null
  total: number | null
}
/** How many listed cards each column of a project has, by status; a row without status for a column without cards. */
export const countCards = (db: Reader, projectId: number): Promise<Counts[]> =>
  db.all(
    `SELECT l.id AS columnId, l.name, l.column_type AS columnType, n.status, n.total FROM columns l JOIN boards b ON b.id = l.board_id
   LEFT JOIN card_counts n ON n.project_id = l.project_id AND n.column_id = l.id AND n.total > 0 WHERE l.project_id = ? ORDER BY b.position, l.position, n.status`,
    [projectId],
  )

/** Cards of this machine's projects that were deleted before the time and still have a managed worktree, those first that were deleted first: in the order of ids, every card would be looked at. */
export const listDeletedWithWorktree = (db: Reader, before: string): Promise<CardRow[]> =>
  db.all(
    `SELECT ${fields} ${from} WHERE c.deleted_at < ? AND c.worktree_managed = 1 AND c.worktree_path IS NOT NULL
   AND c.project_id IN (SELECT id FROM projects WHERE host IS ?) ORDER BY c.deleted_at LIMIT 1000`,
    [before, db.host],
  )

/** The cards of a project, or of one of its boards, that have a managed worktree or may be about to get one, deleted ones too, and the branches that the board made for them. */
export const listWithWorktree = (
  db: Reader,
  { projectId, boardId }: { projectId: number; boardId?: number },
): Promise<Array<{ id: number; branch: string | null }>> =>
  db.all(
    `SELECT c.id, iif(c.worktree_managed, c.git_branch, NULL) AS branch FROM cards c WHERE c.project_id = ?1 AND (?2 IS NULL OR c.board_id = ?2)
   AND ((c.worktree_managed = 1 AND c.worktree_path IS NOT NULL) OR EXISTS (SELECT 1 FROM agent_sessions s WHERE s.card_id = c.id AND s.ended_at IS NULL)) ORDER BY c.id`,
    [projectId, boardId],
  )

/** Those of the ids that are cards', deleted ones too. */
export const listPresentCards = async (db: Reader, ids: readonly number[]): Promise<number[]> =>
  (
    await db.all<{ id: number }>('SELECT c.id FROM json_each(?) j JOIN cards c ON c.id = j.value', [
      JSON.stringify(ids),
    ])
  ).map(({ id }) => id)

/** Removes at most `limit` cards for good that were deleted before the time, with their attachments' rows, and tells how many. One with a managed worktree stays until that is gone. */
export const purgeCards = async (tx: Transaction, before: string, limit: number): Promise<number> =>
  (
    await tx.run(
      'DELETE FROM cards WHERE id IN (SELECT id FROM cards WHERE deleted_at < ? AND (worktree_managed = 0 OR worktree_path IS NULL) LIMIT ?)',
      [before, limit],
    )
  ).changes

/** At most `limit` cards of a project that were archived from a column, and are not in its order. */
export const archivedCardIds = async (
  db: Reader,
  projectId: number,
  columnId: number,
  limit: number,
): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      "SELECT id FROM cards WHERE project_id = ? AND archived_at IS NOT NULL AND deleted_at IS NULL AND column_id = ? AND kind <> 'assistant' ORDER BY id LIMIT ?",
      [projectId, columnId, limit],
    )
  ).map(({ id }) => id)
