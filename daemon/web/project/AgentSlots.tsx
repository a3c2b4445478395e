import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Form } from '../ui/Form.tsx'
import { OptionalNumber, useFields } from '../ui/Inputs.tsx'
import type { SectionProps } from './ProjectPage.tsx'

/** How many of the project's agents work at once. */
export function AgentSlots({ project, onChange }: SectionProps) {
  const { values, bind } = useFields({ agentSlots: project.agentSlots })
  const save = async () => {
    onChange(await client.projects.update({ id: project.id, ...values }))
    showMessage('Saved: how many agents work at once.')
  }
  return (
    <div className="panel">
      <h3>How many work at once</h3>
      <Form submit="Save the slots" onSubmit={save}>
        <SlotsInput {...bind('agentSlots')} />
      </Form>
    </div>
  )
}

/** How many agents may work at once; what comes beyond waits. */
export const SlotsInput = (bound: {
  value: number | null
  onChange: (value: number | null) => void
  field?: string
}) => (
  <OptionalNumber
    label="Agents at once"
    hint="What comes beyond waits for a slot. Empty: as many as the server runs."
    min={1}
    max={10_000}
    {...bound}
  />
)
