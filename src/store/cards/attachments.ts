import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, number, text, type NewRow, type Row } from '../engine/record.ts'

export const attachmentFields = {
  id: id(),
  cardId: id(),
  projectId: id().computed('c.project_id'),
  filename: text(),
  contentType: text(),
  /** Bytes. */
  size: number(),
  /** Hexadecimal. */
  sha256: text(),
  /** The name of the file on disk. */
  storedAs: text(),
  createdAt: text().initiallyNow(),
}
export type AttachmentRow = Row<typeof attachmentFields>
export type NewAttachment = NewRow<typeof attachmentFields>
/** A stored file that has no card yet. */
export type SavedFile = Omit<NewAttachment, 'cardId' | 'createdAt'>

const record = defineRecord('attachments', 'a', attachmentFields)
const fields = record.columns
/** A deleted card's attachments are hidden with it. */
const from = 'FROM attachments a JOIN cards c ON c.id = a.card_id AND c.deleted_at IS NULL'

export const projectOfAttachment = async (db: Reader, id: number): Promise<number | undefined> =>
  (await db.get<{ projectId: number }>(`SELECT c.project_id AS projectId ${from} WHERE a.id = ?`, [id]))?.projectId
export const readAttachment = (db: Reader, id: number): Promise<AttachmentRow | undefined> =>
  db.get(`SELECT ${fields} ${from} WHERE a.id = ?`, [id])
export const listAttachments = (db: Reader, cardId: number): Promise<AttachmentRow[]> =>
  db.all(`SELECT ${fields} ${from} WHERE a.card_id = ? ORDER BY a.id`, [cardId])
/**
 * A project's attachments with IDs below `before`, newest first. Scans at most `maxScanned` attachments, so that the cost of a
 * page does not depend on other projects. `next` is the cursor of the next page, if there might be one.
 */
export async function listProjectAttachments(
  db: Reader,
  projectId: number,
  { before = Number.MAX_SAFE_INTEGER, limit }: { before?: number; limit: number },
): Promise<{ rows: AttachmentRow[]; next: number | undefined }> {
  const last = await db.get<{ id: number }>(
    'SELECT id FROM attachments WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET ?',
    [before, maxScanned - 1],
  )
  const rows = await db.all<AttachmentRow>(
    `SELECT ${fields} FROM attachments a CROSS JOIN cards c ON c.id = a.card_id AND c.deleted_at IS NULL WHERE a.id < ? AND a.id >= ? AND c.project_id = ? ORDER BY a.id DESC LIMIT ?`,
    [before, last?.id ?? 0, projectId, limit],
  )
  return { rows, next: rows.length === limit ? rows.at(-1)!.id : last?.id }
}
const maxScanned = 5000
export const countAttachments = async (db: Reader, cardId: number): Promise<number> =>
  (await db.get<{ total: number }>('SELECT attachment_count AS total FROM cards WHERE id = ?', [cardId]))!.total

export const insertAttachment = (tx: Transaction, attachment: NewAttachment): Promise<number> =>
  record.insert(tx, attachment)

export const deleteAttachment = async (tx: Transaction, id: number): Promise<void> => {
  await tx.run('DELETE FROM attachments WHERE id = ?', [id])
}

/** Returns those of the file names that a row refers to. Includes rows of deleted cards. */
export const storedNames = async (db: Reader, names: readonly string[]): Promise<string[]> =>
  (
    await db.all<{ name: string }>(
      'SELECT a.stored_as AS name FROM json_each(?) j JOIN attachments a ON a.stored_as = j.value',
      [JSON.stringify(names)],
    )
  ).map(({ name }) => name)
