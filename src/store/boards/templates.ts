import type { ColumnType } from '../../contract/fields.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, flag, id, json, text, type Change, type NewRow, type Row } from '../engine/record.ts'

/** A template of boards; built-in ones have no owner. */
export const templateFields = {
  id: id(),
  userId: id().orNull(),
  name: text(),
  columns: json<TemplateColumn[]>(),
  builtin: flag().initially(false),
  shared: flag().initially(false),
  createdAt: text().initiallyNow(),
}
export type TemplateRow = Row<typeof templateFields>
export interface TemplateColumn {
  name: string
  columnType: ColumnType
  prompt: string
  wipLimit: number | null
  pull: boolean
}

const record = defineRecord('board_templates', 't', templateFields)
const fields = record.columns

export const readTemplate = (db: Reader, id: number): Promise<TemplateRow | undefined> =>
  db.get(`SELECT ${fields} FROM board_templates t WHERE id = ?`, [id])
/** The built-in template for new boards. */
export const readDefaultTemplate = (db: Reader): Promise<TemplateRow | undefined> =>
  db.get(`SELECT ${fields} FROM board_templates t WHERE builtin = 1 ORDER BY name <> 'Kanban', id LIMIT 1`)
/** The templates that an account can see: built-in ones, then shared ones and its own in order of creation. */
export const listTemplates = (db: Reader, userId: number): Promise<TemplateRow[]> =>
  db.all(
    `SELECT ${fields} FROM board_templates t WHERE builtin = 1 OR shared = 1 OR user_id = ? ORDER BY builtin DESC, id`,
    [userId],
  )

export const insertTemplate = (
  tx: Transaction,
  template: Omit<NewRow<typeof templateFields>, 'builtin'> & { userId: number },
): Promise<number> => record.insert(tx, template)

export const updateTemplate = async (
  tx: Transaction,
  id: number,
  change: Pick<Change<typeof templateFields>, 'name' | 'columns' | 'shared'>,
): Promise<void> => record.update(tx, id, change)
/** Transfers an account's templates to another account. */
export const reassignTemplates = async (tx: Transaction, from: number, to: number): Promise<void> => {
  await tx.run('UPDATE board_templates SET user_id = ? WHERE user_id = ?', [to, from])
}
export const deleteTemplate = async (tx: Transaction, id: number): Promise<void> => {
  await tx.run('DELETE FROM board_templates WHERE id = ?', [id])
}
