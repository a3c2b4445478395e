import type { Reader, Transaction } from './database.ts'

/** `columns` is JSON text, `builtin` and `shared` are 0 or 1; a built-in template belongs to nobody. */
export interface TemplateRow {
  id: number
  userId: number | null
  name: string
  columns: string
  builtin: number
  shared: number
}

const fields = 'id, user_id AS userId, name, columns, builtin, shared'

export const readTemplate = (db: Reader, id: number): Promise<TemplateRow | undefined> =>
  db.get(`SELECT ${fields} FROM board_templates WHERE id = ?`, [id])
/** The built-in template from which boards are made. */
export const readDefaultTemplate = (db: Reader): Promise<TemplateRow | undefined> =>
  db.get(`SELECT ${fields} FROM board_templates WHERE builtin = 1 ORDER BY name <> 'Kanban', id LIMIT 1`)
/** What an account may see: built-in templates, then shared ones and its own in the order in which they were made. */
export const listTemplates = (db: Reader, userId: number): Promise<TemplateRow[]> =>
  db.all(
    `SELECT ${fields} FROM board_templates WHERE builtin = 1 OR shared = 1 OR user_id = ? ORDER BY builtin DESC, id`,
    [userId],
  )

export const insertTemplate = async (
  tx: Transaction,
  userId: number,
  template: Pick<TemplateRow, 'name' | 'columns' | 'shared'>,
): Promise<number> =>
  (
    await tx.run('INSERT INTO board_templates (user_id, name, columns, shared, created_at) VALUES (?, ?, ?, ?, ?)', [
      userId,
      template.name,
      template.columns,
      template.shared,
      tx.now,
    ])
  ).lastId

export const updateTemplate = async (
  tx: Transaction,
  id: number,
  template: Pick<TemplateRow, 'name' | 'columns' | 'shared'>,
): Promise<void> => {
  await tx.run('UPDATE board_templates SET name = ?, columns = ?, shared = ? WHERE id = ?', [
    template.name,
    template.columns,
    template.shared,
    id,
  ])
}
/** Gives an account's templates to another account. */
export const reassignTemplates = async (tx: Transaction, from: number, to: number): Promise<void> => {
  await tx.run('UPDATE board_templates SET user_id = ? WHERE user_id = ?', [to, from])
}
export const deleteTemplate = async (tx: Transaction, id: number): Promise<void> => {
  await tx.run('DELETE FROM board_templates WHERE id = ?', [id])
}
