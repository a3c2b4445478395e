import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as scripts from '../../../src/domain/automation/scripts.ts'
import { script, scriptStatus } from '../../../src/views/scripts.ts'
import type { Handlers } from '../../http/handlers.ts'

export const scriptsRoutes = ({ db, scripts: runner }: Pick<App, 'db' | 'scripts'>): Handlers<Contract['scripts']> => ({
  list: async ({ projectId }) => (await scripts.list(db, projectId)).map(script),
  create: ({ projectId, ...input }, call) => call.write(tx => scripts.create(tx, projectId, input), script),
  reorder: ({ projectId, ids }, call) =>
    call.write(
      tx => scripts.reorder(tx, projectId, ids),
      rows => rows.map(script),
    ),
  status: async ({ projectId, scriptId, since }) => {
    // Outputs in memory are read first: if a run ends in between, its row has the complete output.
    const running = runner.outputs()
    return (await scripts.statuses(db, projectId, scriptId)).map(row =>
      scriptStatus(row.status === 'running' ? { ...row, ...running.get(row.scriptId)?.() } : row, since),
    )
  },
  update: ({ projectId, scriptId, ...change }, call) =>
    call.write(tx => scripts.update(tx, { projectId, scriptId }, change), script),
  delete: (ref, call) => call.write(tx => scripts.remove(tx, runner, ref)),
  run: (ref, call) =>
    call.write(
      tx => scripts.run(tx, runner, ref),
      row => scriptStatus(row),
    ),
  cancel: (ref, call) =>
    call.write(
      tx => scripts.cancel(tx, runner, ref, call.caller),
      row => scriptStatus(row),
    ),
})
