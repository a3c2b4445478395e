import type { InferOutput } from 'valibot'
import { Attachment } from '../contract/attachments.ts'
import { attachmentFields, type AttachmentRow } from '../store/attachments.ts'
import { viewOf } from './view.ts'

export const attachment: (row: AttachmentRow) => InferOutput<typeof Attachment> = viewOf(
  attachmentFields,
  Attachment,
  'text',
)
