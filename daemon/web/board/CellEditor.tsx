import type { Card } from '../../../src/boardModel/cardCache.ts'
import { showError } from '../app/messages.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Store } from '../app/store.ts'
import { agentChange } from '../card/agentChange.ts'
import { AgentOption, useOffers } from '../card/agentProperties.tsx'
import { AssignTo, type PlanChange } from '../card/Assignees.tsx'
import { LabelPicker } from '../card/LabelEditor.tsx'
import { planProperties } from '../card/planProperties.tsx'
import { toggleValue } from '../card/toggleValue.ts'
import { Combobox } from '../ui/Combobox.tsx'
import { Labels } from '../ui/Status.tsx'
import { useNow } from '../ui/Time.tsx'
import type { BoardSession } from './boardSession.ts'
import { moveToColumn } from './changeCards.ts'
import { TilePeople } from './TilePlan.tsx'

export type EditedField = 'column' | 'priority' | 'assignees' | 'labels' | 'due' | 'agent'
/** The cell of the table whose picker is open. */
export const editedCell = new Store<{ cardId: string; field: EditedField } | undefined>(undefined)

interface EditorProps {
  session: BoardSession
  card: Card
  columnId: string
  onClose: () => void
}

/** The picker of a cell, open. It is the picker that the card has for this property. */
export function CellEditor({ field, ...props }: EditorProps & { field: EditedField }) {
  const { session, card, columnId, onClose } = props
  const { projectId } = session
  const now = useNow()
  const change = (fields: PlanChange) =>
    void client.cards.update({ projectId, cardId: card.id, ...fields }).catch(showError)
  const picker = { isOpenAtFirst: true, onClose }
  switch (field) {
    case 'column': {
      const { columns } = session.currentBoard()
      return (
        <Combobox
          {...picker}
          label="Column"
          value={columnId}
          options={columns.map(({ id, name }) => [id, name])}
          onChange={id => moveToColumn(session, [card], session.column(id)!)}
        />
      )
    }
    case 'labels':
      return (
        <LabelPicker
          {...picker}
          projectId={projectId}
          marked={card.labels}
          onChange={label => change({ labels: toggleValue(card.labels, label) })}
        >
          <Labels labels={card.labels} />
        </LabelPicker>
      )
    case 'assignees':
      return <AssigneeEditor {...props} change={change} />
    case 'agent':
      return <AgentEditor {...props} change={change} />
    default: {
      const columnType = session.column(columnId)?.columnType ?? 'backlog'
      const properties = planProperties({ card: { ...card, columnType }, now, canWork: true, change })
      const [priority, due] = properties
      return (field === 'priority' ? priority : due)!.render(true, onClose)
    }
  }
}

type ChangingProps = EditorProps & { change: (fields: PlanChange) => void }

function AssigneeEditor({ session, card, onClose, change }: ChangingProps) {
  const { projectId } = session
  const { value } = useLoad(() => client.members.people({ projectId }), [projectId])
  const ids = card.assignees.flatMap(each => ('userId' in each ? [each.userId] : []))
  if (!value) return <TilePeople card={card} />
  return (
    <AssignTo
      isOpenAtFirst
      onClose={onClose}
      people={value}
      marked={ids}
      onAssign={id => change({ assigneeIds: toggleValue(ids, id) })}
    >
      <TilePeople card={card} />
    </AssignTo>
  )
}

function AgentEditor({ session, card, onClose, change }: ChangingProps) {
  const { agents } = useOffers(session.projectId, { agent: card.agent, profile: null })
  return (
    <AgentOption
      isNew
      label="Agent"
      value={card.agent}
      offered={agents.filter(({ installed, id }) => installed || id === card.agent)}
      disabled={false}
      onChange={id => change(agentChange(id))}
      onClose={onClose}
    />
  )
}
