import * as budgets from '../../src/domain/budgets.ts'
import { budget } from '../../src/views/budgets.ts'
import { defineTool, json } from './tool.ts'

const listBudgets = defineTool({
  name: 'list_budgets',
  entries: {},
  description:
    "List the budgets that bound the project's agents, you among them: what is spent of which limit in which unit (usd, tokens, runs, hours), and when it begins anew. Over one of them your work waits.",
  run: async (app, { projectId }) =>
    json((await budgets.listProject(app.db, projectId, app.config.clock().toISOString())).map(budget)),
})

export const budgetTools = { list_budgets: listBudgets }
