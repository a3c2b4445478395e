import { useState } from 'react'
import { useLoad } from '../app/load.ts'
import { useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { ResourceDialog } from '../ui/ResourceSection.tsx'
import { formatTime } from '../ui/Time.tsx'
import { Spent } from './Budgets.tsx'
import { budgetForm, type Budget } from './budgetForm.tsx'

/** Shows which budget a card waits for. Budget managers can raise it there. */
export function PausedByBudget({ projectId, cardId }: { projectId: string; cardId: string }) {
  const all = useLoad(() => client.budgets.listProject({ projectId }), [projectId, cardId])
  const mayManage = useProject(projectId)?.role === 'admin'
  const [raised, raise] = useState<Budget>()
  const used = (all.value ?? []).filter(
    ({ state, scope, scopeId }) => state === 'exhausted' && (scope !== 'card' || scopeId === cardId),
  )
  const close = () => raise(undefined)
  return (
    <div className="notice waits budget-notice" role="status">
      <p>
        The agent is paused because a budget is exhausted. The agent continues automatically when the budget allows it.
      </p>
      {used.map(budget => (
        <div key={budget.id} className="budget-used">
          <strong>
            {budget.scope} {budget.scopeName}
          </strong>
          <Spent budget={budget} />
          {budget.resetsAt && <span className="dim">Resets at {formatTime(budget.resetsAt)}.</span>}
          {(mayManage || budget.scope === 'organization' || budget.scope === 'credential') && (
            <Button isMain onClick={() => raise(budget)}>
              Raise limit
            </Button>
          )}
        </div>
      ))}
      {raised && (
        <ResourceDialog
          form={budgetForm(raised)}
          resource={raised}
          name={raised.scopeName}
          onClose={close}
          onSaved={async () => {
            close()
            await all.reload()
          }}
        />
      )}
    </div>
  )
}
