import type { CardStatus } from '../../contract/fields.ts'
import { isOwn } from '../agents/sessionPurposes.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { firstMessageRow } from './remarkRows.ts'

export interface CardHit {
  id: number
  projectId: number
  projectName: string
  title: string
  prompt: string
  columnName: string
  status: CardStatus
  archivedAt: string | null
}
export interface NamedHit {
  id: number
  projectId: number
  projectName: string
  title: string
}

/** A card that was found by one of its comments, or else by the last message of its agent. */
export interface RemarkHit extends Omit<CardHit, 'prompt'> {
  commentId: number | null
  /** Null for a message. */
  authorName: string | null
  body: string
}

/** Whether cards, comments or messages are not indexed yet. */
export const hasUnindexed = async (db: Reader): Promise<boolean> =>
  (await db.get(
    'SELECT 1 AS there FROM (SELECT card_id FROM unindexed_cards LIMIT 1) UNION ALL SELECT 1 FROM (SELECT row_id FROM unindexed_remarks LIMIT 1) LIMIT 1',
  )) !== undefined

/** Marks every comment and every card's last message for the index. */
export const markRemarks = async (tx: Transaction): Promise<void> => {
  await tx.run('INSERT OR IGNORE INTO unindexed_remarks SELECT id FROM comments')
  await tx.run(
    `INSERT OR IGNORE INTO unindexed_remarks SELECT DISTINCT card_id + ${firstMessageRow} FROM agent_sessions WHERE ${isOwn('purpose')}`,
  )
}

/** Only the end of a message is indexed, because a message can have megabytes. */
const maxMessageLength = 10_000
/** SQL of the last message of the agent of a card `c`. Pieces are JSON texts. */
const lastMessage = `(SELECT substr(group_concat(json_extract(data, '$'), ''), -${maxMessageLength}) FROM (SELECT p.data FROM transcript_pieces p
    WHERE p.message_id = (SELECT m.id FROM transcript_messages m WHERE m.card_id = c.id AND m.role = 'agent' ORDER BY m.id DESC LIMIT 1) ORDER BY p.number))`
const indexedCards = `cards c ON c.deleted_at IS NULL AND c.kind <> 'assistant'`

/** Indexes at most `limit` new, changed or deleted comments and messages. @returns how many */
export async function indexRemarks(tx: Transaction, limit: number): Promise<number> {
  const pending = await tx.all<{ id: number }>('SELECT row_id AS id FROM unindexed_remarks ORDER BY row_id LIMIT ?', [
    limit,
  ])
  if (pending.length === 0) return 0
  const ids = JSON.stringify(pending.map(({ id }) => id))
  tx.enqueue('DELETE FROM card_talks WHERE rowid IN (SELECT value FROM json_each(?))', [ids])
  tx.enqueue(
    `INSERT INTO card_talks (rowid, body, scope) SELECT k.id, k.body, 'p' || c.project_id
     FROM json_each(?) j JOIN comments k ON k.id = j.value JOIN ${indexedCards} AND c.id = k.card_id`,
    [ids],
  )
  tx.enqueue(
    `INSERT INTO card_talks (rowid, body, scope) SELECT id, body, 'p' || projectId FROM (
       SELECT j.value AS id, ${lastMessage} AS body, c.project_id AS projectId
       FROM json_each(?) j JOIN ${indexedCards} AND c.id = j.value - ${firstMessageRow}) WHERE body IS NOT NULL`,
    [ids],
  )
  tx.enqueue('DELETE FROM unindexed_remarks WHERE row_id IN (SELECT value FROM json_each(?))', [ids])
  return pending.length
}

/** Cards whose comments match a full-text expression, newest comment first. With `messages`, cards whose last message matches follow. */
export const findRemarks = (
  db: Reader,
  expression: string,
  { limit, messages }: { limit: number; messages: boolean },
): Promise<RemarkHit[]> =>
  db.all(
    `SELECT c.id, c.project_id AS projectId, p.name AS projectName, c.title, l.name AS columnName, c.status, c.archived_at AS archivedAt,
     k.id AS commentId, k.author_name AS authorName, coalesce(k.body, ${lastMessage}) AS body
     FROM (SELECT rowid FROM card_talks WHERE card_talks MATCH ?1 AND rowid > ?2 ORDER BY rowid DESC LIMIT ?3) f
     LEFT JOIN comments k ON k.id = f.rowid JOIN cards c ON c.id = iif(f.rowid > 0, k.card_id, f.rowid - ${firstMessageRow})
     JOIN columns l ON l.id = c.column_id JOIN projects p ON p.id = c.project_id WHERE c.deleted_at IS NULL ORDER BY f.rowid DESC`,
    [expression, messages ? firstMessageRow : 0, limit],
  )

/** Indexes at most `limit` new or changed cards. @returns how many */
export async function indexCards(tx: Transaction, limit: number): Promise<number> {
  const pending = await tx.all<{ id: number }>('SELECT card_id AS id FROM unindexed_cards ORDER BY card_id LIMIT ?', [
    limit,
  ])
  if (pending.length === 0) return 0
  const ids = JSON.stringify(pending.map(({ id }) => id))
  for (const [table, fields] of [
    ['card_texts', 'title, prompt, labels'],
    ['card_titles', 'title'],
  ]) {
    tx.enqueue(`DELETE FROM ${table} WHERE rowid IN (SELECT value FROM json_each(?))`, [ids])
    tx.enqueue(
      `INSERT INTO ${table} (rowid, ${fields}, scope) SELECT c.id, ${fields}, 'p' || project_id FROM json_each(?) j JOIN cards c ON c.id = j.value WHERE deleted_at IS NULL`,
      [ids],
    )
  }
  tx.enqueue('DELETE FROM unindexed_cards WHERE card_id IN (SELECT value FROM json_each(?))', [ids])
  return pending.length
}

/** The full-text table of titles, or that of titles, prompts and labels. Both have the card's project in `scope`. */
export type SearchTable = 'card_titles' | 'card_texts'

/** Cards whose words match a full-text expression, newest first. */
export const findCards = (db: Reader, table: SearchTable, expression: string, limit: number): Promise<CardHit[]> =>
  db.all(
    `SELECT c.id, c.project_id AS projectId, p.name AS projectName, c.title, c.prompt, l.name AS columnName, c.status, c.archived_at AS archivedAt
   FROM (SELECT rowid FROM ${table} WHERE ${table} MATCH ? ORDER BY rowid DESC LIMIT ?) f
   JOIN cards c ON c.id = f.rowid JOIN columns l ON l.id = c.column_id JOIN projects p ON p.id = c.project_id WHERE c.deleted_at IS NULL ORDER BY c.id DESC`,
    [expression, limit],
  )

/** Boards of these projects whose name contains the text. */
export const findBoards = (
  db: Reader,
  projectIds: readonly number[],
  part: string,
  limit: number,
): Promise<NamedHit[]> =>
  db.all(
    `SELECT b.id, b.project_id AS projectId, p.name AS projectName, b.name AS title FROM json_each(?) j JOIN boards b ON b.project_id = j.value JOIN projects p ON p.id = b.project_id
   WHERE b.name LIKE ? ESCAPE '\\' ORDER BY b.id LIMIT ?`,
    [JSON.stringify(projectIds), `%${part.replace(/[\\%_]/g, '\\$&')}%`, limit],
  )
