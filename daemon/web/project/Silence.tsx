import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Form } from '../ui/Form.tsx'
import { Choice, useFields } from '../ui/Inputs.tsx'
import type { SectionProps } from './sectionProps.ts'

const onSilences = [
  ['wait', 'notifies people once, and can continue'],
  ['end', 'is stopped: the card fails'],
] as const

/** The action for a silent agent. */
export function Silence({ project, onChange }: SectionProps) {
  const { values, bind } = useFields({ onSilence: project.onSilence })
  const save = async () => {
    onChange(await client.projects.update({ id: project.id, ...values }))
    showMessage('Saved the action for silent agents.')
  }
  return (
    <div className="panel">
      <h3>When an agent says nothing</h3>
      <p className="hint">
        For 15 minutes, unless the server is started with another <code>--agent-silence</code>. Processes that work
        count as a sign of life; an agent that asks waits as long as it takes.
      </p>
      <Form submit="Save what happens" onSubmit={save}>
        <Choice label="An agent without a sign of life" options={onSilences} {...bind('onSilence')} />
      </Form>
    </div>
  )
}
