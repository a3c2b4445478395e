import { Problem } from '../contract/errors.ts'
import type { ColumnType } from '../contract/fields.ts'
import type { Caller } from './caller.ts'
import type { Reader, Transaction } from '../store/database.ts'
import {
  deleteTemplate,
  insertTemplate,
  readDefaultTemplate,
  readTemplate,
  updateTemplate,
  type TemplateRow,
} from '../store/templates.ts'

export interface TemplateColumn {
  name: string
  columnType: ColumnType
  prompt: string
}

/** @throws Problem TEMPLATE_NOT_FOUND */
export async function find(db: Reader, id: number): Promise<TemplateRow> {
  return (await readTemplate(db, id)) ?? refuse('TEMPLATE_NOT_FOUND')
}

/** The template of a new board: the named one, or the built-in "Kanban". @throws Problem TEMPLATE_NOT_FOUND */
export async function templateForBoard(db: Reader, templateId?: number): Promise<{ columns: TemplateColumn[] }> {
  const template =
    templateId === undefined
      ? ((await readDefaultTemplate(db)) ?? refuse('TEMPLATE_NOT_FOUND'))
      : await find(db, templateId)
  return { columns: JSON.parse(template.columns) as TemplateColumn[] }
}

/** Creates a template that belongs to the caller and that everybody may use. */
export async function create(
  tx: Transaction,
  caller: Caller,
  { name, columns }: { name: string; columns: readonly TemplateColumn[] },
): Promise<TemplateRow> {
  return find(tx, await insertTemplate(tx, caller.userId, { name, columns: JSON.stringify(columns) }))
}

/** Changes one of the caller's templates. @throws Problem TEMPLATE_NOT_FOUND, FORBIDDEN */
export async function update(
  tx: Transaction,
  caller: Caller,
  id: number,
  change: { name?: string; columns?: readonly TemplateColumn[] },
): Promise<TemplateRow> {
  const template = await findOwn(tx, caller, id)
  await updateTemplate(tx, id, {
    name: change.name ?? template.name,
    columns: change.columns ? JSON.stringify(change.columns) : template.columns,
  })
  return find(tx, id)
}

/** Deletes one of the caller's templates; boards made from it stay. @throws Problem TEMPLATE_NOT_FOUND, FORBIDDEN */
export async function remove(tx: Transaction, caller: Caller, id: number): Promise<void> {
  await findOwn(tx, caller, id)
  await deleteTemplate(tx, id)
}

async function findOwn(tx: Transaction, caller: Caller, id: number): Promise<TemplateRow> {
  const template = await find(tx, id)
  if (template.builtin === 1) refuse('FORBIDDEN', 'Built-in templates cannot be changed.')
  if (template.userId !== caller.userId) refuse('FORBIDDEN', 'Only its owner may change a template.')
  return template
}

function refuse(code: 'TEMPLATE_NOT_FOUND' | 'FORBIDDEN', message?: string): never {
  throw new Problem(code, message)
}
