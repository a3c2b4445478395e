import { useLoad } from '../app/load.ts'
import { useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { Budgets } from '../budgets/Budgets.tsx'
import { UsageTable } from '../budgets/UsageTable.tsx'
import { Heading } from './Heading.tsx'
import { useCard, useOpened } from './openedCard.ts'

/** The card's own budgets, and the amounts used. */
export function CardBudgets() {
  const { projectId } = useOpened()
  const { id, sessions } = useCard()
  const mayManage = useProject(projectId)?.role === 'admin'
  const list = useLoad(() => client.budgets.list({ cardId: Number(id) }), [id])
  const isEmpty = sessions.length === 0 && (list.value ?? []).length === 0
  if (isEmpty && !mayManage) return null
  return (
    <section>
      <Heading>Budget and usage</Heading>
      <Budgets of={list} scope={{ scope: 'card', scopeId: id }} mayManage={mayManage} />
      {sessions.length > 0 && <UsageTable cardId={Number(id)} />}
    </section>
  )
}
