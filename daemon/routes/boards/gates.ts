import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as gates from '../../../src/domain/boards/gates.ts'
import { listGates } from '../../../src/store/boards/gates.ts'
import { gate } from '../../../src/views/gates.ts'
import type { Handlers } from '../../http/handlers.ts'

export const gatesRoutes = ({ db, supervisor }: Pick<App, 'db' | 'supervisor'>): Handlers<Contract['gates']> => ({
  list: async ({ projectId }) => (await listGates(db, projectId)).map(gate),
  create: ({ projectId, ...input }, call) =>
    call.write(tx => gates.create(tx, supervisor, call.caller, projectId, input), gate),
  reorder: ({ projectId, ids }, call) =>
    call.write(
      tx => gates.reorder(tx, projectId, ids),
      rows => rows.map(gate),
    ),
  update: ({ projectId, gateId, ...change }, call) =>
    call.write(tx => gates.update(tx, supervisor, call.caller, { projectId, gateId }, change), gate),
  delete: (ref, call) => call.write(tx => gates.remove(tx, ref)),
})
