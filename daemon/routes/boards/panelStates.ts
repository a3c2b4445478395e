import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as panelStates from '../../../src/domain/boards/panelStates.ts'
import { listPanelStates } from '../../../src/store/boards/panelStates.ts'
import { panelStates as view } from '../../../src/views/panelStates.ts'
import type { Handlers } from '../../http/handlers.ts'

export const panelStatesRoutes = (app: Pick<App, 'db'>): Handlers<Contract['panelStates']> => ({
  get: async ({ projectId }, { caller }) => view(await listPanelStates(app.db, caller.userId, projectId)),
  set: ({ projectId, ...states }, { caller, write }) =>
    write(tx => panelStates.set(tx, { userId: caller.userId, projectId }, states), view),
  delete: ({ projectId, cardId }, { caller, write }) =>
    write(tx => panelStates.remove(tx, { userId: caller.userId, projectId }, cardId)),
})
