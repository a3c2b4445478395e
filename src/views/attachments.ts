import type { InferOutput } from 'valibot'
import type { Attachment } from '../contract/attachments.ts'
import type { AttachmentRow } from '../store/attachments.ts'

export const attachment = (row: AttachmentRow): InferOutput<typeof Attachment> => ({
  id: String(row.id),
  cardId: String(row.cardId),
  filename: row.filename,
  contentType: row.contentType,
  size: row.size,
  sha256: row.sha256,
  createdAt: row.createdAt,
})

/** A page of attachments, with where the next one begins. */
export const attachmentPage = ({ rows, next }: { rows: readonly AttachmentRow[]; next: number | undefined }) => ({
  items: rows.map(attachment),
  nextCursor: next === undefined ? null : String(next),
})
