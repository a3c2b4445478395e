import type { App } from '../../../src/app.ts'
import { restore } from '../../../src/backups/restoreBackup.ts'
import { Problem } from '../../../src/contract/errors.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { sendFile } from '../../files/download.ts'
import type { Call, Handlers } from '../../http/handlers.ts'
import { receiveFile } from '../../files/multipartUpload.ts'

const stallTimeoutMs = 60_000

export const backupsRoutes = (app: Pick<App, 'backups' | 'config' | 'db' | 'host'>): Handlers<Contract['backups']> => ({
  create: ({ withKey }) => app.backups.create('request', withKey),
  list: () => app.backups.list(),
  upload: async (_, call) => {
    const { upload, sentName } = await receive(app, call)
    return app.backups.admit(upload, sentName).finally(() => app.backups.discard(upload))
  },
  download: async ({ filename }, { request, response }) => {
    const answer = await sendFile(request, { contentType: 'application/gzip', ...(await app.backups.find(filename)) })
    if (!answer) throw new Problem('BACKUP_NOT_FOUND')
    response.setTimeout(stallTimeoutMs)
    return answer
  },
  delete: ({ filename }) => app.backups.remove(filename),
  restoring: async () => ({ progress: app.backups.restoring ?? null }),
  restore: ({ filename }, { caller, request, audit }) => {
    const entry = audit!.entry()
    audit!.leaveOut()
    return restore(app, filename, { caller, request, entry })
  },
})

const receive = async ({ backups }: Pick<App, 'backups'>, { request }: Call) =>
  receiveFile(request, {
    maxBytes: await backups.roomBytes(),
    save: async (bytes, sentName) => ({ upload: await backups.receive(bytes), sentName }),
    discard: ({ upload }) => backups.discard(upload),
  })
