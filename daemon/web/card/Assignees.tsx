import { useLoad } from '../app/load.ts'
import { showError } from '../app/messages.ts'
import { client, session } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { Combobox, type PickerState } from '../ui/Combobox.tsx'
import { Person } from '../ui/Fact.tsx'
import { useCard, useOpened } from './openedCard.ts'
import { toggleValue } from './toggleValue.ts'
import { tooltip } from '../ui/tooltip.ts'

export type PlanChange = Omit<Parameters<typeof client.cards.update>[0], 'projectId' | 'cardId'>

/** The assignees of a card: project members, and names without an account. Does not include the agent. */
export function Assignees({ change }: { change: ((plan: PlanChange) => Promise<unknown>) | undefined }) {
  const { projectId } = useOpened()
  const { assignees } = useCard()
  const { value: people = [] } = useLoad(() => client.members.people({ projectId }), [projectId])
  const ids = assignees.flatMap(each => ('userId' in each ? [each.userId] : []))
  const names = assignees.flatMap(each => ('name' in each ? [each.name] : []))
  const assign = (userId: string) => change?.({ assigneeIds: toggleValue(ids, userId) }).catch(showError)
  return (
    <div className="assignees">
      {assignees.map(each => {
        const name = 'userId' in each ? each.displayName : each.name
        return (
          <AssignedPerson
            key={'userId' in each ? each.userId : `${name} `}
            name={name}
            about={'userId' in each ? undefined : 'has no account here'}
            onRemove={
              change &&
              (() =>
                change(
                  'userId' in each
                    ? { assigneeIds: ids.filter(id => id !== each.userId) }
                    : { assigneeNames: names.filter(other => other !== name) },
                ))
            }
          />
        )
      })}
      {change && <AssignTo people={people} marked={ids} onAssign={userId => void assign(userId)} />}
    </div>
  )
}

/** The ID of the signed-in account. Null before the first account exists. */
export const useMyId = () => useStore(session, now => (now.name === 'in' ? now.me.id : null))

interface AssignedProps {
  name: string
  about?: string
  onRemove: (() => unknown) | undefined
}

/** An assigned person, with a button to remove the person. */
export const AssignedPerson = ({ name, about, onRemove }: AssignedProps) => (
  <span className="label editable">
    <Person name={name} />
    <span {...tooltip(about)}>{name}</span>
    {onRemove && <Button isPlain icon="close" label={`Remove ${name}`} onClick={() => void onRemove()} />}
  </span>
)

interface AssignToProps extends PickerState {
  people: readonly { userId: string; displayName: string }[]
  onAssign: (userId: string) => void
}

/** A searchable list of people to assign. */
export function AssignTo({ people, onAssign, children = 'Assign to…', ...rest }: AssignToProps) {
  const me = useMyId()
  if (people.length === 0 && !rest.isOpenAtFirst) return null
  return (
    <Combobox
      label="Assign to"
      hint="The project has no members."
      options={people.map(({ userId, displayName }) => [userId, `${displayName}${userId === me ? ' (you)' : ''}`])}
      onChange={onAssign}
      {...rest}
    >
      {children}
    </Combobox>
  )
}

/** Turns notifications about the card on or off. */
export function WatchButton({ userId }: { userId: string }) {
  const opened = useOpened()
  const { id: cardId, watcherIds } = useCard()
  const isWatching = watcherIds.includes(userId)
  const toggle = async () =>
    opened.setCard(await client.cards.setWatching({ projectId: opened.projectId, cardId, watching: !isWatching }))
  return (
    <Button icon="bell" aria-pressed={isWatching} onClick={toggle}>
      {isWatching ? 'Watching' : 'Watch'}
    </Button>
  )
}
