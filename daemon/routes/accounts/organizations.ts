import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { chooseForOrganization } from '../../../src/domain/accounts/credentials.ts'
import * as organizations from '../../../src/domain/accounts/organizations.ts'
import { listOrganizationMembers, listOrganizations } from '../../../src/store/accounts/organizations.ts'
import { organization, organizationMember } from '../../../src/views/organizations.ts'
import type { Handlers } from '../../http/handlers.ts'

export const organizationsRoutes = (app: Pick<App, 'db'>): Handlers<Contract['organizations']> => ({
  create: ({ name }, call) => call.write(tx => organizations.create(tx, call.caller, name), organization),
  list: async (_, call) => (await listOrganizations(app.db, call.caller.userId)).map(organization),
  get: async ({ id }, call) => organization(await organizations.find(app.db, call.caller, id)),
  update: ({ id, ...change }, call) =>
    call.write(tx => organizations.update(tx, call.caller, id, change), organization),
  delete: ({ id }, call) => call.write(tx => organizations.remove(tx, id)),
  listMembers: async ({ id }) => (await listOrganizationMembers(app.db, id)).map(organizationMember),
  addMember: ({ id, ...member }, call) =>
    call.write(tx => organizations.addMember(tx, call.caller, id, member), organizationMember),
  updateMember: ({ role, ...ref }, call) =>
    call.write(tx => organizations.updateMember(tx, ref, role), organizationMember),
  removeMember: (ref, call) =>
    call.write(tx => organizations.removeMember(tx, call.caller, call.role === 'admin', ref)),
  setCredential: ({ orgId, credentialId }, call) =>
    call.write(async tx => {
      await chooseForOrganization(tx, call.caller, orgId, credentialId)
      return organizations.find(tx, call.caller, orgId)
    }, organization),
})
