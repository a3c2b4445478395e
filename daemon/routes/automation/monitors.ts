import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as monitors from '../../../src/domain/automation/monitors.ts'
import { checkMonitor } from '../../../src/monitors/checkMonitor.ts'
import { listProjectMonitors } from '../../../src/store/automation/monitors.ts'
import { monitor } from '../../../src/views/monitors.ts'
import type { Handlers } from '../../http/handlers.ts'

export const monitorsRoutes = ({ db }: Pick<App, 'db'>): Handlers<Contract['monitors']> => ({
  create: async ({ projectId, cardId, ...fields }, call) => {
    const checked = await checkMonitor(db, { projectId, cardId }, fields, call.caller)
    return call.write(tx => monitors.create(tx, checked), monitor)
  },
  list: async ref => (await monitors.list(db, ref)).map(monitor),
  delete: (ref, call) => call.write(tx => monitors.remove(tx, ref)),
  listProject: async ({ projectId }) => (await listProjectMonitors(db, projectId)).map(monitor),
  deleteProject: (ref, call) => call.write(tx => monitors.remove(tx, ref)),
})
