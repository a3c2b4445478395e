import { Problem } from '../../contract/errors.ts'
import { appendEvent } from '../../events/outbox.ts'
import {
  countAttachments,
  deleteAttachment,
  insertAttachment,
  listAttachments,
  readAttachment,
  type AttachmentRow,
  type SavedFile,
} from '../../store/cards/attachments.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { attachment as view } from '../../views/attachments.ts'
import { recordActivity } from './activity.ts'
import * as cards from './cards.ts'
import type { CardRef, StartRef } from './cards.ts'
import type { Caller } from '../accounts/caller.ts'
import { startRefusal, requireMayChangeStart } from './startPermission.ts'

const maxPerCard = 1000

/** @throws Problem ATTACHMENT_NOT_FOUND */
export async function find(db: Reader, id: number): Promise<AttachmentRow> {
  const attachment = await readAttachment(db, id)
  if (!attachment) throw new Problem('ATTACHMENT_NOT_FOUND')
  return attachment
}

/** A card's attachments, oldest first. @throws Problem CARD_NOT_FOUND */
export async function list(db: Reader, ref: CardRef): Promise<AttachmentRow[]> {
  return listAttachments(db, (await cards.find(db, ref)).id)
}

/**
 * Requires that a caller can attach files to a card. The card's agent receives them, so a card that can start automatically requires the
 * permission to start it, except from an agent.
 * @throws Problem CARD_NOT_FOUND, CONFLICT if the card has 1,000 attachments, INSUFFICIENT_PERMISSIONS
 */
export async function requireRoom(db: Reader, ref: StartRef): Promise<void> {
  const card = await cards.find(db, ref)
  if (ref.caller.kind !== 'agent') await requireMayChangeStart(db, ref.caller, card)
  if ((await countAttachments(db, card.id)) >= maxPerCard)
    throw new Problem('CONFLICT', `A card can have at most ${maxPerCard} attachments.`)
}

/** Attaches a file that is on disk. @throws Problem as `requireRoom` */
export async function add(tx: Transaction, ref: StartRef, file: SavedFile): Promise<AttachmentRow> {
  await requireRoom(tx, ref)
  const id = await insertAttachment(tx, { ...file, cardId: ref.cardId })
  recordActivity(tx, ref.cardId, 'attachment.created', [{ field: 'filename', from: null, to: file.filename }])
  return announce(tx, id)
}

/** Announces a new attachment. @throws Problem ATTACHMENT_NOT_FOUND */
export async function announce(tx: Transaction, id: number): Promise<AttachmentRow> {
  const attachment = await find(tx, id)
  const attachmentCount = await countAttachments(tx, attachment.cardId)
  await appendEvent(tx, 'attachment.created', attachment.projectId, { ...view(attachment), attachmentCount })
  return attachment
}

/**
 * Deletes an attachment, and its file, by `removeFile`, after the commit.
 * @throws Problem ATTACHMENT_NOT_FOUND, INSUFFICIENT_PERMISSIONS as `requireRoom`
 */
export async function remove(
  tx: Transaction,
  { id, caller }: { id: number; caller: Caller },
  removeFile: (storedAs: string) => Promise<void>,
): Promise<void> {
  const attachment = await find(tx, id)
  if (startRefusal(caller, 'kanban')) await requireMayChangeStart(tx, caller, await cards.find(tx, attachment))
  await deleteAttachment(tx, id)
  const { cardId, projectId } = attachment
  const attachmentCount = await countAttachments(tx, cardId)
  await appendEvent(tx, 'attachment.deleted', projectId, { id: String(id), cardId: String(cardId), attachmentCount })
  recordActivity(tx, cardId, 'attachment.deleted', [{ field: 'filename', from: attachment.filename, to: null }])
  tx.afterCommit(() => void removeFile(attachment.storedAs))
}
