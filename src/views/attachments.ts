import type { InferOutput } from 'valibot'
import { Attachment } from '../contract/cards/attachments.ts'
import { attachmentFields, type AttachmentRow } from '../store/cards/attachments.ts'
import { viewOf } from './view.ts'

export const attachment: (row: AttachmentRow) => InferOutput<typeof Attachment> = viewOf(
  attachmentFields,
  Attachment,
  'text',
)
