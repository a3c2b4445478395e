import { defaultSessionCards } from '../../../src/contract/agents/agentSlots.ts'
import { client } from '../app/session.ts'
import { OptionalNumber } from '../ui/Inputs.tsx'
import { SettingsForm } from '../ui/SettingsForm.tsx'
import type { SectionProps } from './sectionProps.ts'

/** The maximum number of concurrent agents of the project, and of cards that a session can create. */
export const AgentSlots = ({ project: { id, agentSlots, sessionCards }, onChange }: SectionProps) => (
  <SettingsForm
    title="Agent limits"
    submit="Save limits"
    saved="Saved the limits."
    initial={{ agentSlots, sessionCards: sessionCards as number | null }}
    save={async values =>
      onChange(
        await client.projects.update({ id, ...values, sessionCards: values.sessionCards ?? defaultSessionCards }),
      )
    }
  >
    {({ bind }) => (
      <>
        <SlotsInput {...bind('agentSlots')} />
        <OptionalNumber
          label="Cards per session"
          hint="Maximum number of cards that one session creates. Empty: 50."
          min={0}
          max={10_000}
          {...bind('sessionCards')}
        />
      </>
    )}
  </SettingsForm>
)

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
