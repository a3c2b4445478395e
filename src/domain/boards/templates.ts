import { refuse } from '../../contract/errors.ts'
import { isAdmin, type Caller } from '../accounts/caller.ts'
import { requireSoundLimit } from './columnLimits.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import {
  deleteTemplate,
  insertTemplate,
  readDefaultTemplate,
  readTemplate,
  updateTemplate,
  type TemplateColumn,
  type TemplateRow,
} from '../../store/boards/templates.ts'

/** A template that the caller can see. @throws Problem TEMPLATE_NOT_FOUND, also for private ones of others */
async function find(db: Reader, caller: Caller, id: number): Promise<TemplateRow> {
  const template = await readTemplate(db, id)
  const isSeen = template && (template.builtin === 1 || template.shared === 1 || template.userId === caller.userId)
  return isSeen ? template : refuse('TEMPLATE_NOT_FOUND')
}

/** The template of a new board: the named one, or the built-in "Kanban". @throws Problem TEMPLATE_NOT_FOUND */
export async function templateForBoard(
  db: Reader,
  caller: Caller,
  templateId?: number,
): Promise<{ columns: TemplateColumn[] }> {
  const template =
    templateId === undefined
      ? ((await readDefaultTemplate(db)) ?? refuse('TEMPLATE_NOT_FOUND'))
      : await find(db, caller, templateId)
  return { columns: JSON.parse(template.columns) as TemplateColumn[] }
}

/**
 * Creates a template that belongs to the caller. Administrators can share theirs with all users.
 * @throws Problem FORBIDDEN, VALIDATION_FAILED
 */
export async function create(
  tx: Transaction,
  caller: Caller,
  { name, columns, shared }: { name: string; columns: readonly TemplateColumn[]; shared: boolean },
): Promise<TemplateRow> {
  requireSharer(caller, shared)
  requireSoundLimits(columns)
  const template = { userId: caller.userId, name, columns: JSON.stringify(columns), shared }
  return find(tx, caller, await insertTemplate(tx, template))
}

/** Changes one of the caller's templates. @throws Problem TEMPLATE_NOT_FOUND, FORBIDDEN */
export async function update(
  tx: Transaction,
  caller: Caller,
  id: number,
  change: { name?: string; columns?: readonly TemplateColumn[]; shared?: boolean },
): Promise<TemplateRow> {
  const template = await findOwn(tx, caller, id)
  requireSharer(caller, change.shared === true && template.shared === 0)
  requireSoundLimits(change.columns ?? [])
  await updateTemplate(tx, id, {
    name: change.name ?? template.name,
    columns: change.columns ? JSON.stringify(change.columns) : template.columns,
    shared: change.shared ?? template.shared,
  })
  return find(tx, caller, id)
}

/** Deletes one of the caller's templates. Boards that were created from it stay. @throws Problem TEMPLATE_NOT_FOUND, FORBIDDEN */
export async function remove(tx: Transaction, caller: Caller, id: number): Promise<void> {
  await findOwn(tx, caller, id)
  await deleteTemplate(tx, id)
}

async function findOwn(tx: Transaction, caller: Caller, id: number): Promise<TemplateRow> {
  const template = await find(tx, caller, id)
  if (template.builtin === 1) refuse('FORBIDDEN', 'Built-in templates cannot be changed.')
  if (template.userId !== caller.userId) refuse('FORBIDDEN', 'Only the owner of a template can change it.')
  return template
}

const requireSoundLimits = (columns: readonly TemplateColumn[]): void => {
  for (const [at, column] of columns.entries()) requireSoundLimit(column, `columns.${at}.wipLimit`)
}

function requireSharer(caller: Caller, shared: boolean): void {
  if (shared && !isAdmin(caller)) refuse('FORBIDDEN', 'Only server admins can share templates.')
}
