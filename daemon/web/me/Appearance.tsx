import { useState } from 'react'
import { changeSettings, settings } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import { Check, Choice } from '../ui/Inputs.tsx'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'

const switches = [
  ['highContrast', 'High contrast', 'Shows dim text and thin lines at full strength.'],
  ['sidebarExpanded', 'Project names in the sidebar', 'If this is off, the sidebar shows only icons.'],
  ['agentReasoning', 'Agent reasoning', 'Transcripts show the reasoning of agents.'],
  ['statusLine', 'Status line', 'Shows tokens, cost and context below a transcript.'],
] as const

/** The appearance of the board, in every browser and in the terminal. */
export function Appearance() {
  const mine = useStore(settings)
  return (
    <>
      <Choice
        label="Theme"
        value={mine.theme}
        options={[
          ['system', 'System'],
          ['light', 'Light'],
          ['dark', 'Dark'],
        ]}
        onChange={theme => void changeSettings({ theme })}
      />
      <Choice
        label="Cards on a board"
        value={mine.density}
        options={[
          ['comfortable', 'Several lines per card'],
          ['compact', 'One line per card'],
        ]}
        onChange={density => void changeSettings({ density })}
      />
      {switches.map(([name, label, hint]) => (
        <Check
          key={name}
          label={label}
          hint={hint}
          value={mine[name]}
          onChange={isOn => void changeSettings({ [name]: isOn })}
        />
      ))}
      <HiddenTools key={mine.hiddenToolTypes.join(' ')} types={mine.hiddenToolTypes} />
    </>
  )
}

function HiddenTools({ types }: { types: readonly string[] }) {
  const [text, setText] = useState(types.join(', '))
  const save = () =>
    changeSettings({
      hiddenToolTypes: text
        .split(',')
        .map(type => type.trim())
        .filter(Boolean),
    })
  return (
    <Form submit="Save hidden kinds" onSubmit={save}>
      <Field
        label="Hidden kinds of tool calls"
        hint="Comma-separated kinds that transcripts hide: read, search, edit, execute, fetch, think, other."
        field="hiddenToolTypes"
      >
        {props => <input {...props} value={text} onChange={({ target }) => setText(target.value)} />}
      </Field>
    </Form>
  )
}
