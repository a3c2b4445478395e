import type { App } from '../../src/app.ts'
import type { Contract } from '../../src/contract/index.ts'
import * as members from '../../src/domain/members.ts'
import { member, memberOrInvitation } from '../../src/views/members.ts'
import type { Handlers } from '../handlers.ts'

export const membersRoutes = (app: App): Handlers<Contract['members']> => ({
  list: async ({ id }) => (await members.list(app.db, id)).map(memberOrInvitation),
  add: ({ id, ...invited }, call) => call.write(tx => members.add(tx, id, invited), memberOrInvitation),
  update: ({ role, ...ref }, call) => call.write(tx => members.update(tx, ref, role), member),
  remove: (ref, call) => call.write(tx => members.remove(tx, call.caller, call.role === 'admin', ref), nothing),
  removeInvitation: ({ projectId, email }, call) => call.write(tx => members.withdraw(tx, projectId, email), nothing),
})

const nothing = () => undefined
