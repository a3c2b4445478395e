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
        At 80 % people are told. When one is used up, agents at work wait and nothing starts, until its limit is raised
        or it begins anew.
      </p>
      <Budgets
        of={list}
        scope={{ scope: 'project', scopeId: project.id }}
        mayManage={mayManage}
        isOwn={({ scope }) => scope === 'project' || scope === 'card'}
      />
      <h3>Use</h3>
      <UsageTable projectId={Number(project.id)} />
    </>
  )
}
