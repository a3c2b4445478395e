import type { InferOutput } from 'valibot'
import { Template } from '../contract/templates.ts'
import { templateFields, type TemplateRow } from '../store/templates.ts'
import { viewOf } from './view.ts'

export const template: (row: TemplateRow) => InferOutput<typeof Template> = viewOf(templateFields, Template, 'text')
