import type { InferOutput } from 'valibot'
import { Attachment } from '../contract/attachments.ts'
import { attachmentFields, type AttachmentRow } from '../store/attachments.ts'
import { viewOf } from './view.ts'

export const attachment: (row: AttachmentRow) => InferOutput<typeof Attachment> = viewOf(
  attachmentFields,
  Attachment,
  'text',
)

/** A page of attachments, with where the next one begins. */
export const attachmentPage = ({ rows, next }: { rows: readonly AttachmentRow[]; next: number | undefined }) => ({
  items: rows.map(attachment),
  nextCursor: next === undefined ? null : String(next),
})
