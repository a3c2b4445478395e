import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import * as budgets from '../../../src/domain/agents/budgets.ts'
import { budget } from '../../../src/views/budgets.ts'
import type { Handlers } from '../../http/handlers.ts'

export const budgetsRoutes = ({
  config,
  db,
  supervisor,
}: Pick<App, 'config' | 'db' | 'supervisor'>): Handlers<Contract['budgets']> => {
  const now = () => config.clock().toISOString()
  return {
    list: async (about, { caller }) => (await budgets.list(db, caller, about, now())).map(budget),
    listProject: async ({ projectId }) => (await budgets.listProject(db, projectId, now())).map(budget),
    create: (input, { caller, write }) => write(tx => budgets.create(tx, supervisor, caller, input), budget),
    update: ({ id, ...change }, { caller, write }) =>
      write(tx => budgets.update(tx, supervisor, caller, id, change), budget),
    delete: ({ id }, { caller, write }) => write(tx => budgets.remove(tx, supervisor, caller, id)),
  }
}
