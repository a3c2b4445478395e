import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Choice, TextInput, useFields } from '../ui/Inputs.tsx'
import type { EditProps } from '../ui/Rows.tsx'

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

/** Creates a budget, or edits its limit and period. */
export function EditBudget({ scope, budget, onClose, onSaved }: EditProps & { scope: Scope; budget?: Budget }) {
  const { values, bind } = useFields({
    unit: budget?.unit ?? ('usd' as Budget['unit']),
    limit: budget ? String(budget.limit) : '',
    period: budget?.period ?? ('month' as Budget['period']),
  })
  const save = async () => {
    const change = { limit: Number(values.limit), period: values.period }
    const { state } = budget
      ? await client.budgets.update({ id: budget.id, ...change })
      : await client.budgets.create({ scope: scope.scope, scopeId: scope.scopeId, unit: values.unit, ...change })
    showMessage(
      state === 'exhausted'
        ? 'Saved the budget. It is used up, so its agents are paused.'
        : 'Saved the budget. Paused agents continue.',
    )
    await onSaved()
  }
  return (
    <FormDialog
      title={budget ? 'Change budget' : 'New budget'}
      submit={budget ? 'Save' : 'Create'}
      onSubmit={save}
      onClose={onClose}
    >
      {!budget && <Choice label="Unit" options={units} {...bind('unit')} />}
      <TextInput label="Limit" type="number" min={0} step="any" required {...bind('limit')} />
      <Choice
        label="Period"
        hint="Includes usage since the start of the period."
        options={periods}
        {...bind('period')}
      />
    </FormDialog>
  )
}
