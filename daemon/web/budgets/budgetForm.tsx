import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Choice, TextInput } from '../ui/Inputs.tsx'
import type { ResourceForm } from '../ui/ResourceSection.tsx'

export type Budget = Output<Contract['budgets']['list']>[number]
export type Scope = Pick<Budget, 'scope' | 'scopeId'>

const units = [
  ['usd', 'US dollars'],
  ['tokens', 'Tokens'],
  ['runs', 'Agent runs'],
  ['hours', 'Agent hours'],
] as const
const periods = [
  ['day', 'a day (UTC)'],
  ['month', 'a month (UTC)'],
  ['total', 'in total'],
] as const

interface Values {
  unit: Budget['unit']
  limit: string
  period: Budget['period']
}

/** The form that creates a budget, or edits its limit and period. */
export const budgetForm = (scope: Scope): ResourceForm<Budget, Values> => ({
  noun: 'budget',
  editTitle: () => 'Edit budget',
  initial: budget => ({
    unit: budget?.unit ?? 'usd',
    limit: budget ? String(budget.limit) : '',
    period: budget?.period ?? 'month',
  }),
  save: async ({ unit, limit, period }, budget) => {
    const change = { limit: Number(limit), period }
    const { state } = budget
      ? await client.budgets.update({ id: budget.id, ...change })
      : await client.budgets.create({ scope: scope.scope, scopeId: scope.scopeId, unit, ...change })
    showMessage(
      state === 'exhausted'
        ? 'Saved the budget. It is used up, so its agents are paused.'
        : 'Saved the budget. Paused agents continue.',
    )
  },
  fields: ({ bind }, budget) => (
    <>
      {!budget && <Choice label="Unit" options={units} {...bind('unit')} />}
      <TextInput label="Limit" type="number" min={0} step="any" required {...bind('limit')} />
      <Choice
        label="Period"
        hint="Includes usage since the start of the period."
        options={periods}
        {...bind('period')}
      />
    </>
  ),
})
