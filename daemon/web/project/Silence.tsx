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
      <h3>When an agent is silent</h3>
      <p className="hint">
        After 15 minutes without activity, unless the server is started with another <code>--agent-silence</code>. Busy
        processes count as activity. An agent with an open question is never silent.
      </p>
      <Form submit="Save silence action" onSubmit={save}>
        <Choice label="A silent agent" options={onSilences} {...bind('onSilence')} />
      </Form>
    </div>
  )
}
