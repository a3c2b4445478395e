import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Check, Choice, linesOf, TextArea, TextInput } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { SettingsForm } from '../ui/SettingsForm.tsx'
import { Outcome, type Tested } from './Outcome.tsx'

type Settings = Output<Contract['logs']['getExport']>

const levels = [
  ['info', 'everything'],
  ['warn', 'warnings and errors'],
  ['error', 'errors'],
] as const
const compressions = [
  ['none', 'none'],
  ['gzip', 'gzip'],
] as const

/** The settings for sending the log to a collector. */
export function LogExport() {
  const loaded = useLoad(() => client.logs.getExport(), [])
  return <Await of={loaded}>{settings => <ExportForm settings={settings} onSaved={loaded.set} />}</Await>
}

const initial = ({ enabled, endpoint, minLevel, compression }: Settings) => ({
  enabled,
  endpoint: endpoint ?? '',
  headers: '',
  minLevel,
  compression,
})
type Values = ReturnType<typeof initial>

function ExportForm({ settings, onSaved }: { settings: Settings; onSaved: (settings: Settings) => void }) {
  const [outcome, setOutcome] = useState<Tested>()
  const names = Object.keys(settings.headers)
  const save = async ({ endpoint, headers, ...values }: Values) => {
    const lines = linesOf(headers)
    const changed = Object.fromEntries(
      lines.map(line => [line.split(':')[0]!.trim(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    // An empty field keeps the headers, because their values are never returned.
    const sent = { ...values, endpoint: endpoint.trim() || null, ...(lines.length > 0 && { headers: changed }) }
    onSaved(await client.logs.setExport(sent))
  }
  const test = async () => {
    const { ok, status, error } = await client.logs.testExport()
    const answer = status === null ? '' : ` (status ${status})`
    setOutcome({
      ok,
      text: ok
        ? `Sent one entry. The endpoint accepted it${answer}.`
        : `${error ?? 'The endpoint rejected the entry'}${answer}`,
    })
  }
  return (
    <>
      <SettingsForm submit="Save" saved="Saved the log export." initial={initial(settings)} save={save}>
        {({ bind }) => (
          <>
            <Check label="Send the log" hint="Uses OTLP over HTTP, as JSON." {...bind('enabled')} />
            <TextInput
              label="Endpoint"
              type="url"
              placeholder="https://collector.example.org/v1/logs"
              {...bind('endpoint')}
            />
            <TextArea
              label="Headers"
              placeholder="authorization: Bearer …"
              hint={
                names.length === 0
                  ? 'One per line, name: value. Values are stored encrypted.'
                  : `Saved: ${names.join(', ')}. New headers replace all saved headers. Leave empty to keep the saved headers.`
              }
              {...bind('headers')}
            />
            <Choice label="Minimum level" options={levels} {...bind('minLevel')} />
            <Choice label="Compression" options={compressions} {...bind('compression')} />
          </>
        )}
      </SettingsForm>
      <div className="tools">
        <Button onClick={test}>Send test entry</Button>
      </div>
      <Outcome of={outcome} />
    </>
  )
}
