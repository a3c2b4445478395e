import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { renew, withdraw } from '../../../src/domain/projects/invitations.ts'
import * as members from '../../../src/domain/projects/members.ts'
import { listPeople } from '../../../src/store/cards/cardPeople.ts'
import { member, memberOrInvitation, newInvitation } from '../../../src/views/members.ts'
import type { Handlers } from '../../http/handlers.ts'
import { serverUrl } from '../../documents/serverUrl.ts'

/**
 * Responses with an invitation's token bypass `call.write`, which stores the responses of requests with an
 * Idempotency-Key in plain text.
 */
export const membersRoutes = (app: Pick<App, 'config' | 'db'>): Handlers<Contract['members']> => ({
  people: async ({ projectId }) =>
    (await listPeople(app.db, projectId)).map(({ userId, displayName }) => ({ userId: String(userId), displayName })),
  list: async ({ id }) => (await members.list(app.db, id)).map(memberOrInvitation),
  add: async ({ id, ...invited }, call) => {
    const added = await call.db.transaction(tx =>
      members.add(tx, id, { ...invited, invitedBy: call.caller.displayName }),
    )
    return 'token' in added ? newInvitation(added, serverUrl(app, call)) : member(added)
  },
  update: ({ role, ...ref }, call) => call.write(tx => members.update(tx, ref, role), member),
  remove: (ref, call) => call.write(tx => members.remove(tx, call.caller, call.role === 'admin', ref)),
  renewInvitation: async ({ projectId, email }, call) =>
    newInvitation(
      await call.db.transaction(tx => renew(tx, projectId, { email, invitedBy: call.caller.displayName })),
      serverUrl(app, call),
    ),
  removeInvitation: ({ projectId, email }, call) => call.write(tx => withdraw(tx, projectId, email)),
})
