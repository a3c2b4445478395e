import type { Loaded } from '../app/load.ts'
import { client } from '../app/session.ts'
import { ResourceSection, type ResourceRow } from '../ui/ResourceSection.tsx'
import { formatTime } from '../ui/Time.tsx'
import { budgetForm, type Budget, type Scope } from './budgetForm.tsx'

const periods = { day: 'today', month: 'this month', total: 'in total' }
const states = { ok: 'within the limit', warned: '80% spent', exhausted: 'used up' }
const scopes = { card: 'Card', project: 'Project', organization: 'Organization', credential: 'Credential' }

/** An amount of a budget's unit, for people. */
const shownAmount = (amount: number, unit: Budget['unit']): string =>
  unit === 'usd'
    ? `$${amount.toFixed(2)}`
    : `${amount.toLocaleString(undefined, { maximumFractionDigits: unit === 'hours' ? 3 : 0 })} ${unit}`

interface BudgetsProps {
  of: Loaded<Budget[]>
  about?: string
  /** The scope of new budgets. */
  scope: Scope
  mayManage: boolean
  /** Returns whether the person can change a budget in the list. Default: all of them. */
  isOwn?: (budget: Budget) => boolean
}

/** The budgets and the amounts spent. Managers can create, raise and delete budgets. */
export const Budgets = ({ of, about, scope, mayManage, isOwn = () => true }: BudgetsProps) => (
  <ResourceSection
    of={of}
    label="Budgets"
    about={about}
    empty="No budgets. Agents can use any amount."
    mayEdit={mayManage}
    row={budget => rowOf(budget, mayManage && isOwn(budget))}
    form={budgetForm(scope)}
  />
)

function rowOf(budget: Budget, isEditable: boolean): ResourceRow {
  const { id, scope, scopeName, unit, unknownRuns, resetsAt } = budget
  const name = `${scopes[scope]} ${scopeName}`
  return {
    name,
    isEditable,
    about: (
      <>
        {resetsAt === null ? 'Does not reset.' : `Resets at ${formatTime(resetsAt)}.`}
        {unknownRuns > 0 &&
          ` ${unknownRuns === 1 ? 'One run is' : `${unknownRuns} runs are`} not included: ${unit === 'usd' ? 'the cost is unknown' : 'the tokens are unknown'}.`}
      </>
    ),
    details: <Spent budget={budget} />,
    remove: isEditable && {
      title: `Delete budget of ${name}`,
      text: 'Agents in this scope are no longer limited. Paused agents continue.',
      run: () => client.budgets.delete({ id }),
    },
  }
}

/** The amount spent: a bar, and the same value as text. */
export function Spent({ budget: { spent, limit, unit, period, state } }: { budget: Budget }) {
  const percent = Math.round((spent / limit) * 100)
  return (
    <div className={`budget ${state}`}>
      <div className="budget-bar" aria-hidden="true">
        <span style={{ inlineSize: `${Math.min(100, percent)}%` }} />
      </div>
      <span>
        {shownAmount(spent, unit)} of {shownAmount(limit, unit)} {periods[period]} ({percent}%): {states[state]}
      </span>
    </div>
  )
}
