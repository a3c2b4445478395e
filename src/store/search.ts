import type { CardStatus } from '../contract/fields.ts'
import type { Reader, Transaction } from './database.ts'

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

/** Whether cards are still to be indexed. */
export const hasUnindexed = async (db: Reader): Promise<boolean> =>
  (await db.get('SELECT card_id FROM unindexed_cards LIMIT 1')) !== undefined

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
