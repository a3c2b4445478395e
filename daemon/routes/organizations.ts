import type { App } from '../../src/app.ts'
import type { Contract } from '../../src/contract/index.ts'
import * as organizations from '../../src/domain/organizations.ts'
import { listOrganizations } from '../../src/store/organizations.ts'
import { organization } from '../../src/views/organizations.ts'
import type { Handlers } from '../handlers.ts'

export const organizationsRoutes = (app: App): Handlers<Contract['organizations']> => ({
  create: ({ name }, call) => call.write(tx => organizations.create(tx, call.caller, name), organization),
  list: async (_, call) => (await listOrganizations(app.db, call.caller.userId)).map(organization),
  get: async ({ id }, call) => organization(await organizations.find(app.db, call.caller, id)),
  update: ({ id, ...change }, call) => call.write(tx => organizations.update(tx, call.caller, id, change), organization),
  delete: ({ id }, call) => call.write(tx => organizations.remove(tx, call.caller, id), () => undefined),
})
