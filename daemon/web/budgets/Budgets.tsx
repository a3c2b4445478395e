import type { Loaded } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Rows, useEditing } from '../ui/Rows.tsx'
import { formatTime } from '../ui/Time.tsx'
import { EditBudget, type Budget, type Scope } from './EditBudget.tsx'

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
  /** The scope of new budgets. */
  scope: Scope
  mayManage: boolean
  /** Returns whether the person can change a budget in the list. Default: all of them. */
  isOwn?: (budget: Budget) => boolean
}

/** The budgets and the amounts spent. Managers can create, raise and delete budgets. */
export function Budgets({ of, scope, mayManage, isOwn = () => true }: BudgetsProps) {
  const editing = useEditing<Budget>(of)
  return (
    <>
      <Rows of={of} label="Budgets" empty="No budgets." isStacked>
        {budget => (
          <BudgetRow
            budget={budget}
            reload={of.reload}
            onEdit={mayManage && isOwn(budget) ? () => editing.edit(budget) : undefined}
          />
        )}
      </Rows>
      {mayManage && (
        <div className="tools">
          <Button icon="add" onClick={editing.add}>
            New budget
          </Button>
        </div>
      )}
      {editing.isOpen && <EditBudget {...editing.dialog} scope={scope} budget={editing.edited} />}
    </>
  )
}

interface RowProps {
  budget: Budget
  reload: () => Promise<void>
  onEdit: (() => void) | undefined
}

function BudgetRow({ budget, reload, onEdit }: RowProps) {
  const { id, scope, scopeName, unit, unknownRuns, resetsAt, state } = budget
  const what = `${scopes[scope]} ${scopeName}`
  const remove = () =>
    confirm({
      title: `Delete budget of ${what}`,
      text: 'Agents in this scope are no longer limited. Paused agents continue.',
      submit: 'Delete budget',
      run: async () => {
        await client.budgets.delete({ id })
        await reload()
      },
    })
  return (
    <>
      <div className="head">
        <div className="what">
          <strong>{what}</strong>
          <Spent budget={budget} />
          <p className="dim">
            {resetsAt === null ? 'Does not reset.' : `Resets at ${formatTime(resetsAt)}.`}
            {unknownRuns > 0 &&
              ` ${unknownRuns === 1 ? 'One run is' : `${unknownRuns} runs are`} not included: ${unit === 'usd' ? 'the cost is unknown' : 'the tokens are unknown'}.`}
          </p>
        </div>
        {onEdit && (
          <div className="tools">
            <Button isMain={state === 'exhausted'} aria-label={`Change budget of ${what}`} onClick={onEdit}>
              {state === 'exhausted' ? 'Raise' : 'Change'}
            </Button>
            <Button isDanger aria-label={`Delete budget of ${what}`} onClick={remove}>
              Delete
            </Button>
          </div>
        )}
      </div>
    </>
  )
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
