import * as v from 'valibot'
import { Count, Id, limit, queryInteger, Time } from '../fields.ts'
import { ofCard, ofProject } from '../notFound.ts'
import { del, fileAnswers, get, member, post, viewer } from '../route.ts'

export const Attachment = v.object({
  id: Id,
  cardId: Id,
  filename: v.string(),
  contentType: v.string(),
  size: Count,
  sha256: v.string(),
  createdAt: Time,
})
const cardCount = { /** How many its card has now. */ attachmentCount: Count }
/** The data of attachment events. */
export const AttachmentCreated = v.object({ ...Attachment.entries, ...cardCount })
export const AttachmentDeleted = v.object({ id: Id, cardId: Id, ...cardCount })
const ListAttachments = v.strictObject({ limit: limit(100, 1000), cursor: v.optional(queryInteger(1)) })

export const attachments = {
  listProject: get('/api/projects/{projectId}/attachments', {
    notFound: ofProject,
    who: viewer('cards.read'),
    summary: "List the attachments of a project's cards, newest first",
    details: 'Use cursor for attachments with a smaller ID. Only the last page has no nextCursor.',
    input: ListAttachments,
    output: v.object({ items: v.array(Attachment), nextCursor: v.nullable(Id) }),
  }),
  list: get('/api/projects/{projectId}/cards/{cardId}/attachments', {
    notFound: ofCard,
    who: viewer('cards.read'),
    tool: {
      name: 'list_attachments',
      title: 'List attachments',
      group: 'find',
      does: 'reads',
      brief: ['id', 'filename', 'contentType', 'size', 'createdAt'],
    },
    summary: "List a card's attachments",
    output: v.array(Attachment),
  }),
  create: post('/api/projects/{projectId}/cards/{cardId}/attachments', {
    notFound: ofCard,
    at: 'machine',
    who: member('cards.update'),
    summary: 'Attach a file to a card, as multipart/form-data, field file',
    transfer: 'upload',
    output: Attachment,
    idempotent: true,
    status: 201,
    emits: ['attachment.created'],
  }),
  download: get('/api/attachments/{attachmentId}', {
    notFound: { attachmentId: 'ATTACHMENT_NOT_FOUND' },
    at: 'machine',
    who: viewer('cards.read', 'attachmentId'),
    summary: 'Download an attachment',
    transfer: 'file',
    answers: fileAnswers('*/*'),
    fails: ['RANGE_NOT_SATISFIABLE'],
  }),
  delete: del('/api/attachments/{attachmentId}', {
    notFound: { attachmentId: 'ATTACHMENT_NOT_FOUND' },
    audited: { target: 'attachment' },
    at: 'machine or here',
    who: member('cards.update', 'attachmentId'),
    tool: { name: 'delete_attachment', title: 'Delete an attachment', group: 'change', does: 'destroys' },
    summary: 'Delete an attachment',
    emits: ['attachment.deleted'],
  }),
}
