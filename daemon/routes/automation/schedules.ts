import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as schedules from '../../../src/domain/automation/schedules.ts'
import { cardDetail } from '../../../src/views/cards.ts'
import { schedule } from '../../../src/views/schedules.ts'
import type { Handlers } from '../../http/handlers.ts'

export const schedulesRoutes = ({
  config,
  db,
  supervisor,
}: Pick<App, 'config' | 'db' | 'supervisor'>): Handlers<Contract['schedules']> => ({
  list: async ({ projectId }) => (await schedules.list(db, projectId)).map(schedule),
  preview: async ({ projectId: _, ...timing }) => schedules.preview(timing, config.clock().toISOString()),
  create: ({ projectId, ...input }, call) =>
    call.write(tx => schedules.create(tx, supervisor, call.caller, projectId, input), schedule),
  update: ({ projectId, scheduleId, ...change }, call) =>
    call.write(tx => schedules.update(tx, supervisor, call.caller, { projectId, scheduleId }, change), schedule),
  delete: (ref, call) => call.write(tx => schedules.remove(tx, ref)),
  run: async (ref, call) => {
    await supervisor.refresh()
    return call.write(tx => schedules.runNow(tx, supervisor, call.caller, ref), cardDetail)
  },
})
