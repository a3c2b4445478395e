import { createHash, type Hash } from 'node:crypto'
import { announce } from '../domain/cards/attachments.ts'
import { insertAttachment } from '../store/cards/attachments.ts'
import { exportAttachments } from '../store/projects/exports.ts'
import { entriesOf } from '../store/engine/record.ts'
import type { RecordIndex } from './recordIndex.ts'
import { part, announceLater, readByCards } from './part.ts'
import { Attachment, Content, Missing } from './attachmentRecords.ts'

export const readAttachmentRecords = exportAttachments(entriesOf(Attachment))
const maxPerCard = 1000

/**
 * An attachment, its place in the file, its progress in `contents`, and the machine with its bytes if they are not in the file.
 */
export interface KnownAttachment {
  card: number
  filename: string
  size: number
  sha256: string
  place: string
  bytes: number
  hash: Hash | undefined
  digest: string | undefined
  machine?: string | null
}

/** The bytes of attachments follow in `contents`. An import omits an attachment without bytes. */
export const attachments = part({
  name: 'attachments',
  schema: Attachment,
  maxRecords: 100_000,
  read: readByCards(1000, readAttachmentRecords),
  check: ({ id, cardId, filename, size, sha256 }, known) => {
    known.find('cards', cardId, 'cardId')
    known.add<KnownAttachment>('attachments', id, {
      card: cardId,
      filename,
      size,
      sha256,
      place: known.place,
      bytes: 0,
      hash: undefined,
      digest: undefined,
    })
    if (known.count(`attachments of card ${cardId}`) === maxPerCard + 1)
      known.addError('cardId', `must be a card with at most ${maxPerCard} attachments`)
    if (size > known.maxAttachmentBytes)
      known.addError(
        'size',
        `must be at most ${known.maxAttachmentBytes}: this server does not accept larger attachments`,
      )
  },
  write: async (tx, { id, cardId, createdAt }, made) => {
    const [card, file] = [made.rows.cards.get(cardId), made.files.get(id)]
    if (!card || !file) return
    const attachmentId = await insertAttachment(tx, { ...file, cardId: card.id, createdAt })
    made.rows.attachments.set(id, { id: attachmentId })
    announceLater(made, async tx => void (await announce(tx, attachmentId)))
  },
})

/** Attachments without bytes, and the machines that have their bytes. */
export const missing = part({
  name: 'missing',
  schema: Missing,
  maxRecords: 100_000,
  check: ({ attachmentId, machine }, known) => {
    const attachment = known.find<KnownAttachment>('attachments', attachmentId, 'attachmentId')
    if (attachment) attachment.machine = machine
  },
})

/** The attachments' bytes in chunks. An export streams them from the files. */
export const contents = part({
  name: 'contents',
  schema: Content,
  maxRecords: 1_000_000,
  check: ({ attachmentId, content }, known) => {
    const attachment = known.find<KnownAttachment>('attachments', attachmentId, 'attachmentId')
    if (!attachment) return
    if (known.latest !== attachmentId) begin(attachmentId, known)
    if (attachment.digest !== undefined)
      known.addError('attachmentId', 'must be next to the other pieces of its attachment')
    const bytes = Buffer.from(content, 'base64')
    attachment.bytes += bytes.length
    attachment.hash = (attachment.hash ?? createHash('sha256')).update(bytes)
  },
  checkEnd: known => {
    begin(0, known)
    for (const attachment of known.all<KnownAttachment>('attachments').values()) checkBytes(attachment, known)
  },
})

/** The next pieces belong to another attachment. */
function begin(attachmentId: number, known: RecordIndex): void {
  const last = known.all<KnownAttachment>('attachments').get(known.latest)
  if (last) Object.assign(last, { digest: last.hash?.digest('hex') ?? last.digest, hash: undefined })
  known.latest = attachmentId
}

function checkBytes(
  { filename, size, sha256, place, bytes, digest, machine }: KnownAttachment,
  known: RecordIndex,
): void {
  if (size > 0 && digest === undefined)
    known.warnings.push(
      `The attachment "${filename}" has no content in the file${machine ? `: it was on the machine ${machine}, which could not be reached or no longer had it` : ''}. It was omitted.`,
    )
  else if (bytes !== size) known.addErrorAt(`${place}.size`, `is ${size}, but its content has ${bytes} bytes`)
  else if ((digest ?? createHash('sha256').digest('hex')) !== sha256)
    known.addErrorAt(`${place}.sha256`, 'is not the hash of its content')
}
