import type { InferOutput } from 'valibot'
import type { Budget, ReachedBudget } from '../contract/agents/budgets.ts'
import type { BudgetRow } from '../store/agents/budgets.ts'

type Measured = BudgetRow & Pick<InferOutput<typeof Budget>, 'state' | 'resetsAt'>

/** Further decimals of a sum of binary fractions are meaningless. */
const decimals = 9

/** A budget with its current spending. */
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

/** A budget that has reached 80% or 100% through the spending of a card's agent. */
export const reachedBudget = (row: Measured, cardId: number): InferOutput<typeof ReachedBudget> => ({
  ...budget(row),
  cardId: String(cardId),
})
