import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as templates from '../../../src/domain/boards/templates.ts'
import { listTemplates } from '../../../src/store/boards/templates.ts'
import { template } from '../../../src/views/templates.ts'
import type { Handlers } from '../../http/handlers.ts'

export const templatesRoutes = (app: Pick<App, 'db'>): Handlers<Contract['templates']> => ({
  list: async (_, { caller }) => (await listTemplates(app.db, caller.userId)).map(template),
  create: (input, call) => call.write(tx => templates.create(tx, call.caller, input), template),
  update: ({ id, ...change }, call) => call.write(tx => templates.update(tx, call.caller, id, change), template),
  delete: ({ id }, call) => call.write(tx => templates.remove(tx, call.caller, id)),
})
