import { planFields } from '../../../src/contract/cards/planFields.ts'
import { useStore } from '../app/store.ts'
import { Person } from '../ui/Fact.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Labels } from '../ui/Status.tsx'
import { toggleValue } from '../card/toggleValue.ts'
import type { Lane } from './arrangement.ts'
import type { BoardSession } from './boardSession.ts'
import { groupLabels } from './boardView.ts'
import { PriorityMark } from './PriorityMark.tsx'

/** The name of a group and its number of cards. A click hides or shows the cards. */
export function LaneHead({ session, lane }: { session: BoardSession; lane: Lane }) {
  const isCollapsed = useStore(session.state, ({ collapsed }) => collapsed.has(lane.key))
  return (
    <button
      type="button"
      className="lane-head"
      data-cell=""
      aria-expanded={!isCollapsed}
      onClick={() =>
        session.set(state => ({ ...state, collapsed: new Set(toggleValue([...state.collapsed], lane.key)) }))
      }
    >
      <Icon name={isCollapsed ? 'right' : 'down'} />
      <LaneName session={session} lane={lane} />
      <span className="count">{lane.ids.length}</span>
    </button>
  )
}

function LaneName({ session, lane: { values } }: { session: BoardSession; lane: Lane }) {
  const group = useStore(session.state, state => state.group)
  if (group === undefined) return null
  if (values.length === 0) return <span>No {groupLabels[group].toLowerCase()}</span>
  switch (group) {
    case 'label':
      return <Labels labels={values} />
    case 'assignee':
      return (
        <>
          {values.map(name => (
            <Person key={name} name={name} />
          ))}
          <span>{values.join(', ')}</span>
        </>
      )
    case 'parent':
      return (
        <span>
          <span className="dim">#{values[0]}</span> {session.card(values[0]!)?.title}
        </span>
      )
    case 'agent':
      return (
        <>
          <Icon name="agent" />
          <span>{values[0]}</span>
        </>
      )
    default:
      return <PriorityMark priority={planFields.priority.values.find(value => value === values[0])!} />
  }
}
