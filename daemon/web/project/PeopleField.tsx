import { useId } from 'react'
import { AssignTo, AssignedPerson } from '../card/Assignees.tsx'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'

interface Props {
  label: string
  hint?: string
  projectId: string
  value: readonly string[]
  onChange: (ids: readonly string[]) => void
}

/** A field for people of a project. */
export function PeopleField({ label, hint, projectId, value, onChange }: Props) {
  const { value: people = [] } = useLoad(() => client.members.people({ projectId }), [projectId])
  const id = useId()
  const nameOf = (id: string) => people.find(({ userId }) => userId === id)?.displayName ?? 'a former member'
  return (
    <div className="field" role="group" aria-labelledby={id}>
      <strong id={id}>{label}</strong>
      <div className="assignees">
        {value.map(id => (
          <AssignedPerson key={id} name={nameOf(id)} onRemove={() => onChange(value.filter(other => other !== id))} />
        ))}
        <AssignTo
          people={people.filter(({ userId }) => !value.includes(userId))}
          onAssign={id => onChange([...value, id])}
        />
      </div>
      {hint && <span className="hint">{hint}</span>}
    </div>
  )
}
