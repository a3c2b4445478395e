import type { InferOutput } from 'valibot'
import { Template } from '../contract/boards/templates.ts'
import { templateFields, type TemplateRow } from '../store/boards/templates.ts'
import { viewOf } from './view.ts'

export const template: (row: TemplateRow) => InferOutput<typeof Template> = viewOf(templateFields, Template, 'text')
