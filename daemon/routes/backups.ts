import type { App } from '../../src/app.ts'
import { Problem } from '../../src/contract/errors.ts'
import type { Contract } from '../../src/contract/index.ts'
import { sendFile } from '../download.ts'
import type { Call, Handlers } from '../handlers.ts'
import { receiveFile } from '../upload.ts'

const stalledMs = 60_000

export const backupsRoutes = ({ backups }: App): Handlers<Contract['backups']> => ({
  create: ({ withKey }) => backups.create('request', withKey),
  list: () => backups.list(),
  upload: async (_, call) => {
    const { upload, sentName } = await receive({ backups }, call)
    return backups.admit(upload, sentName).finally(() => backups.discard(upload))
  },
  download: async ({ filename }, { request, response }) => {
    const answer = await sendFile(request, { contentType: 'application/gzip', ...await backups.find(filename) })
    if (!answer) throw new Problem('BACKUP_NOT_FOUND')
    response.setTimeout(stalledMs)
    return answer
  },
  delete: ({ filename }) => backups.remove(filename),
  restore: async () => { throw new Problem('CONFLICT') },
})

const receive = async ({ backups }: Pick<App, 'backups'>, { request }: Call) => receiveFile(request, {
  maxBytes: await backups.roomBytes(), save: async (bytes, sentName) => ({ upload: await backups.receive(bytes), sentName }), discard: ({ upload }) => backups.discard(upload),
})
