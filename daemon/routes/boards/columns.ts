import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { actorOf } from '../../../src/domain/cards/activity.ts'
import * as cardRemoval from '../../../src/domain/cards/cardRemoval.ts'
import * as columns from '../../../src/domain/boards/columns.ts'
import type { Transaction } from '../../../src/store/engine/database.ts'
import { column } from '../../../src/views/boards.ts'
import type { Handlers } from '../../http/handlers.ts'

export const columnsRoutes = (app: Pick<App, 'db' | 'reads' | 'supervisor'>): Handlers<Contract['columns']> => ({
  list: async ({ projectId, boardId }) => (await columns.list(app.reads, projectId, boardId)).map(column),
  create: ({ projectId, ...input }, call) =>
    call.write(tx => columns.create(tx, app.supervisor, call.caller, projectId, input), column),
  reorder: ({ projectId, ids }, call) =>
    call.write(
      tx => columns.reorder(tx, call.caller, projectId, ids),
      rows => rows.map(column),
    ),
  update: ({ projectId, columnId, ...change }, call) =>
    call.write(tx => columns.update(tx, app.supervisor, call.caller, projectId, columnId, change), column),
  delete: ({ projectId, columnId }, call) => call.write(tx => columns.remove(tx, call.caller, projectId, columnId)),
  clear: async ({ projectId, columnId }, { caller }) => {
    const actor = actorOf(caller)
    const clearSome = (tx: Transaction) => cardRemoval.removeSome(tx, app.supervisor, { projectId, caller }, columnId)
    while (await app.db.transaction(clearSome, actor)) {
      /* Clears the next batch. */
    }
  },
})
