import type { Card } from '../../../src/boardModel/cardCache.ts'
import type { Grouping } from '../../../src/boardModel/group.ts'
import { cardsText } from '../../../src/boardModel/changes.ts'
import { planFields } from '../../../src/contract/cards/planFields.ts'
import { announce, showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { agentChange } from '../card/agentChange.ts'
import type { PlanChange } from '../card/Assignees.tsx'
import type { Lane } from './arrangement.ts'
import type { BoardSession } from './boardSession.ts'

/** The change that gives a card the values of a group. The sample is a card of the group. */
const changes: Record<Grouping, (values: readonly string[], sample: Card) => PlanChange> = {
  assignee: (_, { assignees }) => ({
    assigneeIds: assignees.flatMap(each => ('userId' in each ? [each.userId] : [])),
    assigneeNames: assignees.flatMap(each => ('name' in each ? [each.name] : [])),
  }),
  priority: ([value]) => ({ priority: planFields.priority.values.find(each => each === value) }),
  label: values => ({ labels: [...values] }),
  parent: ([id]) => ({ parentId: id ?? null }),
  agent: ([agent]) => agentChange(agent ?? null),
}

/** Gives cards the values of a group. */
export function changeGroup(session: BoardSession, cards: readonly Card[], { values, ids }: Lane): void {
  const { group } = session.state.get()
  const sample = session.card(ids[0]!)
  if (!group || !sample) return
  const change = changes[group](values, sample)
  const { projectId } = session
  Promise.all(cards.map(({ id: cardId }) => client.cards.update({ projectId, cardId, ...change }))).then(
    () => announce(`Moved ${cardsText(cards)} to ${values.join(', ') || 'the last group'}`),
    showError,
  )
}
