import { join } from 'node:path'
import type { App } from '../../../src/app.ts'
import { Problem } from '../../../src/contract/errors.ts'
import { contract, type Contract } from '../../../src/contract/index.ts'
import { saveFile } from '../../../src/files/attachmentFiles.ts'
import type { SavedFile } from '../../../src/store/cards/attachments.ts'
import * as attachments from '../../../src/domain/cards/attachments.ts'
import type { CardRef } from '../../../src/domain/cards/cards.ts'
import { listProjectAttachments, type AttachmentRow } from '../../../src/store/cards/attachments.ts'
import { attachment } from '../../../src/views/attachments.ts'
import { page } from '../../../src/views/page.ts'
import { sendFile } from '../../files/download.ts'
import { Json, type Call, type Handlers } from '../../http/handlers.ts'
import { claimKey } from '../../http/idempotency.ts'
import { receiveFile } from '../../files/multipartUpload.ts'

const stallTimeoutMs = 60_000

export const attachmentsRoutes = (
  app: Pick<App, 'attachmentFiles' | 'config' | 'db' | 'logs'>,
): Handlers<Contract['attachments']> => ({
  listProject: async ({ projectId, limit, cursor }) =>
    page(await listProjectAttachments(app.db, projectId, { before: cursor, limit }), attachment),
  list: async ref => (await attachments.list(app.db, ref)).map(attachment),
  create: async (ref, call) => {
    await attachments.requireRoom(app.db, { ...ref, caller: call.caller })
    return insertSaved(app, ref, await receive(app, call), call)
  },
  download: async ({ attachmentId }, call) => sendAttachment(app, await attachments.find(app.db, attachmentId), call),
  delete: ({ attachmentId: id }, call) =>
    call.write(tx => attachments.remove(tx, { id, caller: call.caller }, app.attachmentFiles.remove)),
})

const receive = ({ attachmentFiles, config }: Pick<App, 'attachmentFiles' | 'config'>, { request }: Call) =>
  receiveFile(request, {
    maxBytes: config.maxAttachmentBytes,
    save: (bytes, sentName) => saveFile(attachmentFiles.folder, bytes, sentName),
    discard: file => attachmentFiles.remove(file.storedAs),
  })

/**
 * Inserts the row of a saved file. Deletes the file when that fails, or when the request repeats one with the same
 * Idempotency-Key.
 */
async function insertSaved(app: Pick<App, 'attachmentFiles' | 'db'>, ref: CardRef, file: SavedFile, call: Call) {
  let isKept = false
  try {
    const claim =
      call.idempotencyKey === undefined
        ? undefined
        : await claimKey(app, contract.attachments.create, call.caller, call.idempotencyKey, {
            ...ref,
            filename: file.filename,
            sha256: file.sha256,
          })
    const answer =
      claim?.replay ??
      (await (claim ?? call).write(tx => attachments.add(tx, { ...ref, caller: call.caller }, file), attachment))
    isKept = !(answer instanceof Json)
    return answer
  } finally {
    if (!isKept) await app.attachmentFiles.remove(file.storedAs)
  }
}

/**
 * Sends an attachment; a client that reads nothing for a minute is disconnected.
 * @throws Problem ATTACHMENT_NOT_FOUND also when the file is missing on disk
 */
async function sendAttachment(
  app: Pick<App, 'attachmentFiles' | 'logs'>,
  row: AttachmentRow,
  { request, response }: Call,
): Promise<Response> {
  const answer = await sendFile(request, { ...row, path: join(app.attachmentFiles.folder, row.storedAs) })
  if (!answer) {
    app.logs.log('error', "An attachment's file is missing or has another size.", { attachmentId: row.id })
    throw new Problem('ATTACHMENT_NOT_FOUND')
  }
  response.setTimeout(stallTimeoutMs)
  return answer
}
