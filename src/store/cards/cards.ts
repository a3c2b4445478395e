import type { Sort } from '../../contract/cards/cardPlan.ts'
import { CardItem } from '../../contract/cards/cardRecords.ts'
import { choiceNames, type ChoiceFilter } from '../../contract/cards/planFields.ts'
import { ExternalCard, ExternalItem } from '../../contract/server/external.ts'
import type { CardStatus } from '../../contract/fields.ts'
import {
  blockedSql,
  cardExtras,
  cardFields,
  cardListExtras,
  childrenSql,
  externalAssigneesSql,
  readySql,
} from './cardFields.ts'
import { listArms } from './cardSorting.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { placeJoins, placeSql } from './order.ts'
import { defineRecord, entriesOf, type Change, type NewRow, type Row } from '../engine/record.ts'

/** A row of a card query. `locks` and `sessions` exist only if a single card was read. */
export type CardRow = Row<typeof cardFields> & Partial<Row<typeof cardExtras>>
export type NewCardRow = NewRow<typeof cardFields>
export type CardChange = Omit<
  Change<typeof cardFields>,
  'projectId' | 'kind' | 'command' | 'createdAt' | 'updatedAt' | 'version'
>

export interface CardFilter extends ChoiceFilter {
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
  assigneeId?: number | 'none'
  /** Only cards with a due date before this time. */
  dueBefore?: string
  kind?: 'kanban' | 'terminal'
  limit: number
  cursor?: number
}
/** The filter of a list that is not ordered by ID. Without `sort`, ready cards come first. */
export interface SortedFilter extends CardFilter {
  sort?: Sort
  offset?: number
}

const record = defineRecord('cards', 'c', { ...cardFields, ...cardExtras })
const fieldNames = Object.keys(cardFields) as Array<keyof typeof cardFields>
const listColumns = record.columnsOf(fieldNames)
const from = `FROM cards c JOIN columns l ON l.id = c.column_id ${placeJoins}`
/** The condition of cards that external routes list and count. */
const isListedExternally = `c.deleted_at IS NULL AND c.archived_at IS NULL AND c.kind = 'kanban'`

// Statements are constants: the engine caches prepared statements by text, and building a text costs more than the look-up.
const cardById = `SELECT ${record.columns} ${from} WHERE c.id = ? AND c.project_id = ? AND c.deleted_at IS NULL`
const integerIds = { assignees: externalAssigneesSql }
const externalItemJson = record.jsonOf(entriesOf(ExternalItem), 'integer', integerIds)
const externalCardById = `SELECT c.version, ${record.jsonOf(entriesOf(ExternalCard), 'integer', integerIds)} AS json ${from} WHERE c.id = ? AND c.project_id = ? AND c.deleted_at IS NULL AND c.kind = 'kanban'`
const itemJson = defineRecord('cards', 'c', { ...cardFields, ...cardListExtras }).jsonOf(entriesOf(CardItem), 'text', {
  children: childrenSql,
})
const joinCardsOfIds = `JOIN cards c ON c.id = j.value JOIN columns l ON l.id = c.column_id ${placeJoins}`
const cardsByIds = `SELECT ${record.columns} FROM json_each(?) j ${joinCardsOfIds} WHERE c.deleted_at IS NULL ORDER BY j.key`
const itemsByIds = `SELECT c.column_id AS columnId, ${placeSql} AS position, ${itemJson} AS json
  FROM json_each(?) j ${joinCardsOfIds} WHERE c.deleted_at IS NULL ORDER BY j.key`

export const readCard = (db: Reader, projectId: number, id: number): Promise<CardRow | undefined> =>
  db.get(cardById, [id, projectId])
/** Reads cards in the order of `ids`, without deleted ones. Few statements, because each is a round trip to a libSQL server. */
export async function readCards(db: Reader, ids: readonly number[], maxPerRead = 100): Promise<CardRow[]> {
  const cards: CardRow[] = []
  for (let at = 0; at < ids.length; at += maxPerRead)
    cards.push(...(await db.all<CardRow>(cardsByIds, [JSON.stringify(ids.slice(at, at + maxPerRead))])))
  return cards
}
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

/** Marks a card as read. Version and time are unchanged. Returns whether it was unread. */
export const markRead = async (tx: Transaction, id: number): Promise<boolean> =>
  (await tx.run('UPDATE cards SET unread = 0 WHERE id = ? AND unread = 1', [id])).changes > 0
/** Marks up to `limit` of a project's unread cards as read and returns their IDs. */
export async function markSomeRead(tx: Transaction, projectId: number, limit: number): Promise<number[]> {
  const unread = await tx.all<{ id: number }>(
    'SELECT id FROM cards WHERE project_id = ? AND unread = 1 AND deleted_at IS NULL ORDER BY id LIMIT ?',
    [projectId, limit],
  )
  for (const { id } of unread) tx.enqueue('UPDATE cards SET unread = 0 WHERE id = ?', [id])
  return unread.map(({ id }) => id)
}

/** Cards by ID after the cursor. */
export function listCards(db: Reader, filter: CardFilter): Promise<CardRow[]> {
  const { where, args } = conditions(filter, isListedInternally(filter))
  return db.all(`SELECT ${listColumns} ${from} WHERE ${where} ORDER BY c.id LIMIT ?`, [...args, filter.limit])
}

/** The cards with these IDs, in the order of the IDs, each as JSON text in the internal view of lists. */
export const readItemsJson = (
  db: Reader,
  ids: readonly number[],
): Promise<Array<Pick<CardRow, 'columnId' | 'position'> & { json: string }>> =>
  db.all(itemsByIds, [JSON.stringify(ids)])

/**
 * A page of listed cards by ID, with the cursor of the next page, as JSON text in the external view. Generating it in the
 * database takes a third of the time of building objects. group_concat of objects takes half the time of json_group_array.
 */
export async function listExternalJson(db: Reader, filter: CardFilter): Promise<string> {
  // The ID keeps the engine in the order of the page, regardless of the other conditions.
  const { where, args } = conditions({ ...filter, cursor: filter.cursor ?? 0 }, isListedExternally)
  // The condition occurs twice in the statement, so its parameters need numbers. ?1 is the limit.
  let parameter = 1
  const numbered = where.replace(/\?/g, () => `?${++parameter}`)
  return (await db.get<{ json: string }>(
    `SELECT '{"items":[' || coalesce(items, '') || '],"nextCursor":' || iif(count = ?1 AND EXISTS (SELECT 1 FROM cards c WHERE ${numbered} AND c.id > lastId), lastId, 'null') || '}' AS json
     FROM (SELECT group_concat(item) AS items, max(id) AS lastId, count(*) AS count FROM (SELECT c.id, ${externalItemJson} AS item ${from} WHERE ${numbered} ORDER BY c.id LIMIT ?1))`,
    [filter.limit, ...args],
  ))!.json
}

/** A card in the external view, and its version. */
export const readExternalJson = (
  db: Reader,
  projectId: number,
  id: number,
): Promise<{ json: string; version: number } | undefined> => db.get(externalCardById, [id, projectId])

/** A page of cards by ID as JSON text, in the internal view of lists. */
export async function listItemsJson(db: Reader, filter: CardFilter): Promise<string> {
  // Cards by due date are found in another order, so their IDs are sorted before the list is built.
  if (filter.dueBefore !== undefined) return listSortedJson(db, { ...filter, sort: 'id' })
  const { where, args } = conditions(filter, isListedInternally(filter))
  const { items } = (await db.get<{ items: string | null }>(
    `SELECT group_concat(item) AS items FROM (SELECT ${itemJson} AS item ${from} WHERE ${where} ORDER BY c.id LIMIT ?)`,
    [...args, filter.limit],
  ))!
  return `[${items ?? ''}]`
}

/** A page of cards in an order as JSON text, in the internal view of lists. */
export async function listSortedJson(db: Reader, filter: SortedFilter): Promise<string> {
  const { ids, args } = sortedIds(filter)
  const { items } = (await db.get<{ items: string | null }>(
    `SELECT group_concat(item) AS items FROM (SELECT ${itemJson} AS item FROM json_each((${ids})) j ${joinCardsOfIds} ORDER BY j.key LIMIT -1)`,
    args,
  ))!
  return `[${items ?? ''}]`
}

/** A page of cards in an order. */
export async function listSorted(db: Reader, filter: SortedFilter): Promise<CardRow[]> {
  const { ids, args } = sortedIds(filter)
  return db.all(`SELECT ${listColumns} FROM json_each((${ids})) j ${joinCardsOfIds} ORDER BY j.key`, args)
}

/** SQL of the IDs of a page, as a JSON array. A skipped card costs only the read of its index entry. */
function sortedIds(filter: SortedFilter): { ids: string; args: Array<string | number> } {
  const { where, args } = conditions(filter, isListedInternally(filter))
  const [limit, offset] = [filter.limit, filter.offset ?? 0]
  const arms = listArms(filter.sort)
  // Joined only if needed, because with the join the engine sorts all cards instead of using an index.
  const columns = 'JOIN columns l ON l.id = c.column_id'
  // The plus sign excludes the index on the ID: with it, the engine would scan all cards to find the few due ones.
  const orderOf = ({ order }: { order: string }) =>
    filter.dueBefore === undefined ? order : order.replace(/^c\.id/, '+c.id')
  const ordered = arms.map(
    arm =>
      `SELECT id FROM (SELECT c.id FROM cards c ${filter.ready || arm.joins ? columns : ''} ${arm.joins ?? ''} WHERE ${[where, ...(arm.where ? [arm.where] : [])].join(' AND ')} ORDER BY ${orderOf(arm)} LIMIT ?)`,
  )
  return {
    ids: `SELECT json_group_array(id) FROM (SELECT id FROM (${ordered.join(' UNION ALL ')}) LIMIT ? OFFSET ?)`,
    args: [...arms.flatMap(() => [...args, limit + offset]), limit, offset],
  }
}

/** The condition of cards in internal lists: the cards of a kind on the board, or the archived ones of any kind. */
const isListedInternally = (filter: CardFilter): string =>
  [
    isOfKind(filter),
    ...(filter.unread ? ['c.unread = 1'] : []),
    ...(filter.ready ? [readySql] : []),
    ...(filter.blocked ? [blockedSql] : []),
  ].join(' AND ')

const isOfKind = ({ archived, kind }: CardFilter): string =>
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
    ...choiceNames.map((name): [string, string | undefined] => [`c.${name} = ?`, filter[name]]),
    ['c.due_at < ?', filter.dueBefore],
    [
      'c.id IN (SELECT card_id FROM card_assignees WHERE user_id = ?)',
      filter.assigneeId === 'none' ? undefined : filter.assigneeId,
    ],
    ['c.id > ?', filter.cursor],
  ]
  const unassigned = filter.assigneeId === 'none' ? [`c.assignees = '[]'`] : []
  const used = parts.filter((part): part is [string, string | number] => part[1] !== undefined)
  return {
    where: [visible, ...unassigned, ...used.map(([sql]) => sql)].join(' AND '),
    args: used.map(([, arg]) => arg),
  }
}

/**
 * Deleted cards of this machine's projects that still have a managed worktree, the oldest deletion first. If ordered by ID, the
 * query would scan every card.
 */
export const listDeletedWithWorktree = (db: Reader, before: string): Promise<CardRow[]> =>
  db.all(
    `SELECT ${listColumns} ${from} WHERE c.deleted_at < ? AND ((c.worktree_managed = 1 AND c.worktree_path IS NOT NULL)
     OR EXISTS (SELECT 1 FROM card_repositories k WHERE k.card_id = c.id AND k.worktree_path IS NOT NULL))
   AND c.project_id IN (SELECT id FROM projects WHERE host IS ?) ORDER BY c.deleted_at LIMIT 1000`,
    [before, db.host],
  )

/** Up to `limit` cards of a project that were archived from a column and are not in its order. */
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
