import { client } from '../app/session.ts'
import { Choice } from '../ui/Inputs.tsx'
import { SettingsForm } from '../ui/SettingsForm.tsx'
import type { SectionProps } from './sectionProps.ts'

const onSilences = [
  ['wait', 'notifies people once, and can continue'],
  ['end', 'is stopped: the card fails'],
] as const

/** The action for a silent agent. */
export const Silence = ({ project: { id, onSilence }, onChange }: SectionProps) => (
  <SettingsForm
    title="When an agent is silent"
    hint={
      <>
        After 15 minutes without activity, unless the server is started with another <code>--agent-silence</code>. Busy
        processes count as activity. An agent with an open question is never silent.
      </>
    }
    submit="Save silence action"
    saved="Saved the action for silent agents."
    initial={{ onSilence }}
    save={async values => onChange(await client.projects.update({ id, ...values }))}
  >
    {({ bind }) => <Choice label="A silent agent" options={onSilences} {...bind('onSilence')} />}
  </SettingsForm>
)
