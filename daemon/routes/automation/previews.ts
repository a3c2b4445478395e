import type { App } from '../../../src/app.ts'
import { contract, type Contract } from '../../../src/contract/index.ts'
import { Problem } from '../../../src/contract/errors.ts'
import { find } from '../../../src/domain/cards/cards.ts'
import { authenticate } from '../../../src/identity/authenticate.ts'
import { authorize } from '../../http/authorize.ts'
import type { Call, Handlers } from '../../http/handlers.ts'
import { forwardCheckOf } from '../../peers/forwardCheck.ts'

export const previewsRoutes = (
  app: Pick<App, 'catalogue' | 'config' | 'db' | 'identity' | 'membership' | 'previews' | 'seal'>,
): Handlers<Contract['previews']> => ({
  get: async ref => app.previews.read((await find(app.db, ref)).id),
  start: async (ref, { audit }) => {
    const { preview, isNew } = await app.previews.start(ref)
    if (!isNew) audit?.leaveOut()
    return preview
  },
  createTicket: async (ref, call) => app.previews.issueTicket((await find(app.db, ref)).id, stillCan(app, call, ref)),
  stop: async ref => app.previews.end((await find(app.db, ref)).id),
})

/** Returns a function that repeats the checks of this request: whether the token is valid and its owner can see the card. */
function stillCan(
  app: Pick<App, 'catalogue' | 'config' | 'db' | 'identity' | 'membership' | 'seal'>,
  { request }: Call,
  ref: { projectId: number; cardId: number },
): () => Promise<boolean> {
  const { authorization } = request.headers
  // The peer, and the signature of another daemon, were checked with the request.
  const operatorCheck = forwardCheckOf(app, request) && (() => true)
  const peer = { isOwn: async () => true }
  return async () => {
    try {
      const caller = await authenticate(app, authorization, peer, ref.projectId, operatorCheck)
      await authorize(app.db, contract.previews.createTicket, caller, ref)
      await find(app.db, ref)
      return true
    } catch (error) {
      if (error instanceof Problem && error.status < 500) return false
      throw error
    }
  }
}
