import type { InferOutput } from 'valibot'
import type { Budget, ReachedBudget } from '../contract/budgets.ts'
import type { BudgetRow } from '../store/budgets.ts'

type Measured = BudgetRow & Pick<InferOutput<typeof Budget>, 'state' | 'resetsAt'>

/** What a sum of binary fractions has beyond these decimals says nothing. */
const decimals = 9

/** A budget with what is spent of it now. */
export const budget = (row: Measured): InferOutput<typeof Budget> => ({
  id: String(row.id),
  scope: row.scope,
  scopeId: String(row.scopeId),
  scopeName: row.scopeName,
  projectId: row.ofProject === null ? null : String(row.ofProject),
  unit: row.unit,
  limit: row.amount,
  period: row.period,
  spent: Number(row.spent.toFixed(decimals)),
  unknownRuns: row.unknownRuns,
  state: row.state,
  resetsAt: row.resetsAt,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

/** A budget that has come to 80 % or to its end by what a card's agent has spent. */
export const reachedBudget = (row: Measured, cardId: number): InferOutput<typeof ReachedBudget> => ({
  ...budget(row),
  cardId: String(cardId),
})
