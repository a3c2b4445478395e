import { defaultSessionCards } from '../../../src/contract/agents/agentSlots.ts'
import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Form } from '../ui/Form.tsx'
import { OptionalNumber, useFields } from '../ui/Inputs.tsx'
import type { SectionProps } from './sectionProps.ts'

/** The maximum number of concurrent agents of the project, and of cards that a session can create. */
export function AgentSlots({ project, onChange }: SectionProps) {
  const { values, bind } = useFields({
    agentSlots: project.agentSlots,
    sessionCards: project.sessionCards as number | null,
  })
  const save = async () => {
    const { agentSlots, sessionCards } = values
    onChange(
      await client.projects.update({ id: project.id, agentSlots, sessionCards: sessionCards ?? defaultSessionCards }),
    )
    showMessage('Saved the limits.')
  }
  return (
    <div className="panel">
      <h3>Agent limits</h3>
      <Form submit="Save limits" onSubmit={save}>
        <SlotsInput {...bind('agentSlots')} />
        <OptionalNumber
          label="Cards per session"
          hint="Maximum number of cards that one session creates. Empty: 50."
          min={0}
          max={10_000}
          {...bind('sessionCards')}
        />
      </Form>
    </div>
  )
}

/** The maximum number of concurrent agents. Additional agents wait. */
export const SlotsInput = (bound: {
  value: number | null
  onChange: (value: number | null) => void
  field?: string
}) => (
  <OptionalNumber
    label="Concurrent agents"
    hint="Additional agents wait for a slot. Empty: the limit of the server."
    min={1}
    max={10_000}
    {...bound}
  />
)
