import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Form } from '../ui/Form.tsx'
import { Check, NumberInput, useFields } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'

type Relay = Output<Contract['settings']['getContextRelay']>

/** The settings for handing a session off to a fresh one. */
export function ContextRelay() {
  const loaded = useLoad(() => client.settings.getContextRelay(), [])
  return <Await of={loaded}>{relay => <RelayForm relay={relay} />}</Await>
}

function RelayForm({ relay }: { relay: Relay }) {
  const { values, bind } = useFields(relay)
  const save = async () => {
    await client.settings.setContextRelay(values)
    showMessage('Saved the context relay.')
  }
  return (
    <Form submit="Save" onSubmit={save}>
      <Check
        label="Hand over when the context fills up"
        hint="The agent summarizes its context, and a new session continues with the summary."
        {...bind('enabled')}
      />
      <NumberInput label="Context threshold (%)" min={1} max={99} {...bind('thresholdPercent')} />
      <NumberInput label="Length of the summary (tokens)" min={100} max={100_000} {...bind('maxSummaryTokens')} />
    </Form>
  )
}
