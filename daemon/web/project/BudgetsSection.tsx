import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Budgets } from '../budgets/Budgets.tsx'
import { UsageTable } from '../budgets/UsageTable.tsx'
import type { SectionProps } from './sectionProps.ts'

/** The budgets of the project's agents, and the amounts used. */
export function BudgetsSection({ project, mayManage }: SectionProps) {
  const list = useLoad(() => client.budgets.listProject({ projectId: project.id }), [project.id])
  return (
    <>
      <p>
        At 80% of a budget, people are notified. When a budget is exhausted, its agents are paused until you raise the
        limit or the budget resets.
      </p>
      <Budgets
        of={list}
        scope={{ scope: 'project', scopeId: project.id }}
        mayManage={mayManage}
        isOwn={({ scope }) => scope === 'project' || scope === 'card'}
      />
      <h3>Usage</h3>
      <UsageTable projectId={Number(project.id)} />
    </>
  )
}
