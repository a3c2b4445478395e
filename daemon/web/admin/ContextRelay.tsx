import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Check, NumberInput } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { SettingsForm } from '../ui/SettingsForm.tsx'

/** The settings for handing a session off to a fresh one. */
export function ContextRelay() {
  const loaded = useLoad(() => client.settings.getContextRelay(), [])
  return (
    <Await of={loaded}>
      {relay => (
        <SettingsForm
          submit="Save"
          saved="Saved the context relay."
          initial={relay}
          save={values => client.settings.setContextRelay(values)}
        >
          {({ bind }) => (
            <>
              <Check
                label="Hand over when the context fills up"
                hint="The agent summarizes its context, and a new session continues with the summary."
                {...bind('enabled')}
              />
              <NumberInput label="Context threshold (%)" min={1} max={99} {...bind('thresholdPercent')} />
              <NumberInput
                label="Length of the summary (tokens)"
                min={100}
                max={100_000}
                {...bind('maxSummaryTokens')}
              />
            </>
          )}
        </SettingsForm>
      )}
    </Await>
  )
}
