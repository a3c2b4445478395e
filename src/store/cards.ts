import { CardItem } from '../contract/cardRecords.ts'
import { ExternalCard, ExternalItem } from '../contract/external.ts'
import type { CardStatus, ColumnType } from '../contract/fields.ts'
import { blockedSql, cardExtras, childrenSql, cardFields, cardListExtras, readySql } from './cardFields.ts'
import type { Reader, Transaction } from './database.ts'
import { placeJoins, placeSql } from './order.ts'
import { defineRecord, entriesOf, type Change, type NewRow, type Row } from './record.ts'

/** A row of a card query; `locks` and `sessions` only where a single card was read. */
export type CardRow = Row<typeof cardFields> & Partial<Row<typeof cardExtras>>
export type NewCardRow = NewRow<typeof cardFields>
export type CardChange = Omit<
  Change<typeof cardFields>,
  'projectId' | 'kind' | 'command' | 'createdAt' | 'updatedAt' | 'version'
>

export interface CardFilter {
  projectId: number
  boardId?: number
  columnId?: number
  status?: CardStatus
  label?: string
  search?: string
  archived?: boolean
  unread?: boolean
  ready?: boolean
  blocked?: boolean
  kind?: 'kanban' | 'terminal'
  limit: number
  cursor?: number
}

const record = defineRecord('cards', 'c', { ...cardFields, ...cardExtras })
const listed = record.columnsOf(Object.keys(cardFields) as Array<keyof typeof cardFields>)
const from = `FROM cards c JOIN columns l ON l.id = c.column_id ${placeJoins}`
/** The cards that external routes list and count. */
const isListed = `c.deleted_at IS NULL AND c.archived_at IS NULL AND c.kind = 'kanban'`

// Constants: the engine caches prepared statements by their text, and building the text costs more than the look-up.
const card = `SELECT ${record.columns} ${from} WHERE c.id = ? AND c.project_id = ? AND c.deleted_at IS NULL`
export const readCard = (db: Reader, projectId: number, id: number): Promise<CardRow | undefined> =>
  db.get(card, [id, projectId])
export const readDeletedCard = (db: Reader, projectId: number, id: number): Promise<CardRow | undefined> =>
  db.get(`SELECT ${record.columns} ${from} WHERE c.id = ? AND c.project_id = ? AND c.deleted_at IS NOT NULL`, [
    id,
    projectId,
  ])
/** The card of a project's assistant, once there is one. */
export const readAssistantCard = (db: Reader, projectId: number): Promise<CardRow | undefined> =>
  db.get(
    `SELECT ${record.columns} ${from} WHERE c.project_id = ? AND c.kind = 'assistant' AND c.deleted_at IS NULL ORDER BY c.id LIMIT 1`,
    [projectId],
  )
export const projectOfCard = async (db: Reader, id: number): Promise<number | undefined> =>
  (
    await db.get<{ projectId: number }>(
      'SELECT project_id AS projectId FROM cards WHERE id = ? AND deleted_at IS NULL',
      [id],
    )
  )?.projectId

export const insertCard = (tx: Transaction, card: NewCardRow): Promise<number> => record.insert(tx, card)

/** Changes fields of a card and increments its version. */
export async function updateCard(tx: Transaction, id: number, change: CardChange): Promise<void> {
  record.update(tx, id, change)
}

/** Sets a card as read; version and time stay. Returns whether it was unread. */
export const markRead = async (tx: Transaction, id: number): Promise<boolean> =>
  (await tx.run('UPDATE cards SET unread = 0 WHERE id = ? AND unread = 1', [id])).changes > 0
/** Marks at most `limit` of a project's unread cards as read and returns their ids. */
export async function markSomeRead(tx: Transaction, projectId: number, limit: number): Promise<number[]> {
  const unread = await tx.all<{ id: number }>(
    'SELECT id FROM cards WHERE project_id = ? AND unread = 1 AND deleted_at IS NULL ORDER BY id LIMIT ?',
    [projectId, limit],
  )
  for (const { id } of unread) tx.enqueue('UPDATE cards SET unread = 0 WHERE id = ?', [id])
  return unread.map(({ id }) => id)
}

/** Cards by id after the cursor. */
export function listCards(db: Reader, filter: CardFilter): Promise<CardRow[]> {
  const { where, args } = conditions(filter, shown(filter))
  return db.all(`SELECT ${listed} ${from} WHERE ${where} ORDER BY c.id LIMIT ?`, [...args, filter.limit])
}

/** The cards with these ids, in the order of the ids, each as JSON text in the internal view of lists. */
export const readItemsJson = (
  db: Reader,
  ids: readonly number[],
): Promise<Array<Pick<CardRow, 'columnId' | 'position'> & { json: string }>> => db.all(itemsOf, [JSON.stringify(ids)])

/**
 * A page of listed cards by id as JSON text, in the external view. The database makes it at a third of the cost of
 * objects; group_concat of objects costs half of json_group_array.
 */
export async function listExternalJson(
  db: Reader,
  filter: CardFilter,
): Promise<{ items: string; nextCursor: number | null }> {
  const { where, args } = conditions(filter, isListed)
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

/** A page of the cards that could start now as JSON text, in the internal view of lists: in the order of boards, columns and places. */
export async function listReadyJson(db: Reader, filter: CardFilter & { offset?: number }): Promise<string> {
  const { where, args } = conditions(filter, shown(filter))
  const { items } = (await db.get<{ items: string | null }>(
    `SELECT group_concat(item) AS items FROM (SELECT ${item} AS item ${from} JOIN boards b ON b.id = c.board_id
     WHERE ${where} ORDER BY b.position, l.position, ${placeSql} LIMIT ? OFFSET ?)`,
    [...args, filter.limit, filter.offset ?? 0],
  ))!
  return `[${items ?? ''}]`
}

const externalItem = record.jsonOf(entriesOf(ExternalItem), 'integer')
const externalCard = `SELECT ${record.jsonOf(entriesOf(ExternalCard), 'integer')} AS json, c.version ${from} WHERE c.id = ? AND c.project_id = ? AND c.deleted_at IS NULL AND c.kind = 'kanban'`
const item = defineRecord('cards', 'c', { ...cardFields, ...cardListExtras }).jsonOf(entriesOf(CardItem), 'text', {
  children: childrenSql,
})
const itemsOf = `SELECT c.column_id AS columnId, ${placeSql} AS position, ${item} AS json
  FROM json_each(?) j JOIN cards c ON c.id = j.value JOIN columns l ON l.id = c.column_id ${placeJoins} WHERE c.deleted_at IS NULL ORDER BY j.key`

/** The cards of internal lists: those of a kind that are on the board, or the archived ones of any kind. */
const shown = (filter: CardFilter): string =>
  [
    ofKind(filter),
    ...(filter.unread ? ['c.unread = 1'] : []),
    ...(filter.ready ? [readySql] : []),
    ...(filter.blocked ? [blockedSql] : []),
  ].join(' AND ')

const ofKind = ({ archived, kind }: CardFilter): string =>
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

/**
 * Deleted cards of this machine's projects that still have a managed worktree, the oldest deletion first: ordered by
 * id, the query would scan every card.
 */
export const listDeletedWithWorktree = (db: Reader, before: string): Promise<CardRow[]> =>
  db.all(
    `SELECT ${listed} ${from} WHERE c.deleted_at < ? AND c.worktree_managed = 1 AND c.worktree_path IS NOT NULL
   AND c.project_id IN (SELECT id FROM projects WHERE host IS ?) ORDER BY c.deleted_at LIMIT 1000`,
    [before, db.host],
  )

/** What a card leaves: its managed worktree and branch, and in the repository the snapshots of its reviews. */
export interface CardLeftovers {
  id: number
  path: string | null
  branch: string | null
  firstPort: number | null
  snapshots: string[]
}
/**
 * The cards of a project or board with a managed worktree, made or planned, or with review snapshots; deleted ones
 * too.
 */
export const listWithLeftovers = async (
  db: Reader,
  { projectId, boardId }: { projectId: number; boardId?: number },
): Promise<CardLeftovers[]> =>
  (
    await db.all<Omit<CardLeftovers, 'snapshots'> & { snapshots: string }>(
      `SELECT c.id, iif(c.worktree_managed, c.worktree_path, NULL) AS path, iif(c.worktree_managed, c.git_branch, NULL) AS branch,
        (SELECT p.first_port FROM card_ports p WHERE p.card_id = c.id) AS firstPort,
        (SELECT json_group_array(DISTINCT r.snapshot) FROM reviews r WHERE r.card_id = c.id AND r.snapshot IS NOT NULL) AS snapshots
      FROM cards c WHERE c.project_id = ?1 AND (?2 IS NULL OR c.board_id = ?2)
      AND ((c.worktree_managed = 1 AND c.worktree_path IS NOT NULL) OR EXISTS (SELECT 1 FROM agent_sessions s WHERE s.card_id = c.id AND s.ended_at IS NULL)
        OR EXISTS (SELECT 1 FROM reviews r WHERE r.card_id = c.id AND r.snapshot IS NOT NULL)) ORDER BY c.id`,
      [projectId, boardId],
    )
  ).map(({ snapshots, ...card }) => ({ ...card, snapshots: JSON.parse(snapshots) as string[] }))

/** Filters ids: those of cards, deleted ones too. */
export const listPresentCards = async (db: Reader, ids: readonly number[]): Promise<number[]> =>
  (
    await db.all<{ id: number }>('SELECT c.id FROM json_each(?) j JOIN cards c ON c.id = j.value', [
      JSON.stringify(ids),
    ])
  ).map(({ id }) => id)

/**
 * At most `limit` cards that were deleted before the time. A card with a managed worktree or review snapshots is skipped
 * until those are removed.
 */
export const listPurgeable = async (db: Reader, before: string, limit: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT c.id FROM cards c WHERE c.deleted_at < ? AND (c.worktree_managed = 0 OR c.worktree_path IS NULL)
       AND NOT EXISTS (SELECT 1 FROM reviews r WHERE r.card_id = c.id AND r.snapshot IS NOT NULL) LIMIT ?`,
      [before, limit],
    )
  ).map(({ id }) => id)

/** Purges cards, with their attachments' rows. */
export const purgeCards = async (tx: Transaction, ids: readonly number[]): Promise<void> =>
  void (await tx.run('DELETE FROM cards WHERE id IN (SELECT value FROM json_each(?))', [JSON.stringify(ids)]))

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
