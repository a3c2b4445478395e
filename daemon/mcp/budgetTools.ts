import * as budgets from '../../src/domain/agents/budgets.ts'
import { budget } from '../../src/views/budgets.ts'
import { defineTool, json } from './tool.ts'

const listBudgets = defineTool({
  name: 'list_budgets',
  entries: {},
  description:
    "List the budgets that limit the project's agents, including you: the amount spent, the limit, the unit (usd, tokens, runs, hours), and when the budget resets. If a budget is exhausted, your work is paused.",
  run: async (app, { projectId }) =>
    json((await budgets.listProject(app.db, projectId, app.config.clock().toISOString())).map(budget)),
})

export const budgetTools = { list_budgets: listBudgets }
