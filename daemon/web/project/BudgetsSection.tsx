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
      <Budgets
        of={list}
        about="People are notified at 80% of a budget. A used up budget pauses its agents until it resets or you raise it."
        scope={{ scope: 'project', scopeId: project.id }}
        mayManage={mayManage}
        isOwn={({ scope }) => scope === 'project' || scope === 'card'}
      />
      <h3>Usage</h3>
      <UsageTable projectId={Number(project.id)} />
    </>
  )
}
