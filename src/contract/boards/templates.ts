import * as v from 'valibot'
import { WipLimit } from './columns.ts'
import { ColumnType, Id, Name, Prompt } from '../fields.ts'
import { del, get, patch, post, user } from '../route.ts'

export const Template = v.object({
  id: Id,
  name: Name,
  builtin: v.boolean(),
  /** Whether all accounts see the template, or only its owner. */
  shared: v.boolean(),
  columns: v.array(
    v.object({ name: Name, columnType: ColumnType, prompt: v.string(), wipLimit: WipLimit, pull: v.boolean() }),
  ),
})
const TemplateColumns = v.pipe(
  v.array(
    v.strictObject({
      name: Name,
      columnType: ColumnType,
      prompt: v.optional(Prompt, ''),
      wipLimit: v.optional(WipLimit, null),
      pull: v.optional(v.boolean(), false),
    }),
  ),
  v.maxLength(50),
)
const CreateTemplate = v.strictObject({ name: Name, columns: TemplateColumns, shared: v.optional(v.boolean(), false) })
const UpdateTemplate = v.strictObject({
  name: v.optional(Name),
  columns: v.optional(TemplateColumns),
  shared: v.optional(v.boolean()),
})

export const templates = {
  list: get('/api/board-templates', {
    who: user,
    summary: "List the board templates that the caller can use: built-in, shared, and the caller's own",
    output: v.array(Template),
  }),
  create: post('/api/board-templates', {
    who: user,
    summary: 'Create a board template',
    details: 'Only admins can share their templates.',
    input: CreateTemplate,
    output: Template,
    idempotent: true,
    status: 201,
  }),
  update: patch('/api/board-templates/{id}', {
    notFound: { id: 'TEMPLATE_NOT_FOUND' },
    who: user,
    summary: "Update one of the caller's board templates",
    input: UpdateTemplate,
    output: Template,
  }),
  delete: del('/api/board-templates/{id}', {
    notFound: { id: 'TEMPLATE_NOT_FOUND' },
    audited: { target: 'template' },
    who: user,
    summary: "Delete one of the caller's board templates",
  }),
}
