import type { InferOutput } from 'valibot'
import type { Template } from '../contract/templates.ts'
import type { TemplateRow } from '../store/templates.ts'

export const template = (row: TemplateRow): InferOutput<typeof Template> => ({
  id: String(row.id),
  name: row.name,
  builtin: row.builtin === 1,
  shared: row.shared === 1,
  columns: JSON.parse(row.columns),
})
