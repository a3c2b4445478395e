import { ApiFailure } from '../../../src/client/failures.ts'
import { useState, type ReactNode } from 'react'
import { showError, showMessage } from '../app/messages.ts'
import { Button } from '../ui/Button.tsx'
import { Combobox } from '../ui/Combobox.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Fact, Person } from '../ui/Fact.tsx'
import { FormFailure } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Icon, iconNames } from '../ui/Icon.tsx'
import { GroupedChecks, groupsBySubject } from '../ui/GroupedChecks.tsx'
import { Check, Choice, NumberInput, TextArea, TextInput } from '../ui/Inputs.tsx'
import { Menu } from '../ui/Menu.tsx'
import { Await, Failure, Page } from '../ui/Page.tsx'
import { Segments } from '../ui/Segments.tsx'
import { Printed } from '../ui/Printed.tsx'
import { Secret } from '../ui/Secret.tsx'
import { Labels, Status } from '../ui/Status.tsx'
import { Table } from '../ui/Table.tsx'
import { Time } from '../ui/Time.tsx'
import { Tokens } from './Tokens.tsx'

const eventGroups = groupsBySubject(['card.moved', 'card.created', 'agent.status'], { card: 'Cards', agent: 'Agents' })

/** The tokens and the base components in their states, in both themes. Only people who work on the page open it. */
export const DesignPage = () => (
  <Page title="Design">
    {(['light', 'dark'] as const).map(theme => (
      <section key={theme} className="design" data-theme={theme} aria-label={`Theme ${theme}`}>
        <h2>Theme: {theme}</h2>
        <Tokens />
        <Buttons />
        <Layers />
        <Inputs />
        <Lists theme={theme} />
        <Texts />
      </section>
    ))}
  </Page>
)

const Part = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="panel">
    <h3>{name}</h3>
    {children}
  </div>
)

const never = () => new Promise<void>(() => undefined)

const Buttons = () => (
  <Part name="Button and segments">
    <div className="tools">
      <Button>Default</Button>
      <Button isMain>Main</Button>
      <Button isDanger>Danger</Button>
      <Button isPlain>Plain</Button>
      <Button icon="run">With icon</Button>
      <Button icon="edit" label="Edit" />
      <Button isPlain icon="search" label="Search" keys="Ctrl-K" />
      <Button aria-pressed>Pressed</Button>
      <Button about="The tooltip describes the effect">With tooltip</Button>
      <Button disabled>Disabled</Button>
      <Button isMain disabled>
        Main, disabled
      </Button>
      <Button aria-busy aria-disabled>
        Busy
      </Button>
      <Button onClick={never}>Busy after a click</Button>
      <Button onClick={() => Promise.reject(new Error('The action failed.'))}>Failing</Button>
    </div>
    <Segments
      label="Segments"
      value="one"
      options={[
        { value: 'one', text: 'One' },
        { value: 'two', text: 'Two', count: 2 },
        { value: 'table', text: 'Table', icon: 'table' },
      ]}
      onChange={() => undefined}
    />
  </Part>
)

/** Everything that opens above the page. */
function Layers() {
  const [kind, setKind] = useState<'plain' | 'wide' | 'form'>()
  const close = () => setKind(undefined)
  const question = { title: 'Delete card', text: 'You can restore the card for 30 days.', submit: 'Delete', run: never }
  return (
    <Part name="Menu, dialog and message">
      <div className="tools">
        <Menu label="Menu" items={items} />
        <Menu label="Project actions" icon="folder" text="Project" items={items} />
        <Button onClick={() => setKind('plain')}>Dialog</Button>
        <Button onClick={() => setKind('wide')}>Wide dialog</Button>
        <Button onClick={() => setKind('form')}>Form</Button>
        <Button onClick={() => confirm(question)}>Question</Button>
        <Button onClick={() => confirm({ ...question, typed: 'shop' })}>Question with a name</Button>
        <Button onClick={() => showMessage('Moved card 12.', { label: 'Undo', run: () => undefined })}>Message</Button>
        <Button onClick={() => showError(new Error('The card is blocked.'))}>Error message</Button>
      </div>
      {(kind === 'plain' || kind === 'wide') && (
        <Dialog title="Dialog" kind={kind === 'wide' ? 'wide' : undefined} onClose={close}>
          <p>Content</p>
        </Dialog>
      )}
      {kind === 'form' && (
        <FormDialog title="Form" submit="Save" onSubmit={async () => close()} onClose={close}>
          <TextInput label="Name" required value="" onChange={() => undefined} />
          <Choice label="Role" options={roles} value="admin" onChange={() => undefined} />
        </FormDialog>
      )}
    </Part>
  )
}

const items = [
  { label: 'Rename…', run: () => undefined },
  { label: 'Archive', run: () => undefined, keys: 'A' },
  { label: 'Selected', run: () => undefined, isOn: true },
  { label: 'Disabled', run: () => undefined, isDisabled: true },
  { label: 'Delete…', run: () => undefined, isDanger: true, separator: true },
]

const roles = [
  ['viewer', 'Viewer'],
  ['member', 'Member'],
  ['admin', 'Admin'],
] as const
const agents = Array.from({ length: 30 }, (_, at) => [`agent-${at + 1}`, `Agent ${at + 1}`] as const)

const rejected = new ApiFailure(400, { error: { details: [{ path: 'rejected', message: 'must be shorter' }] } }, {})

function Inputs() {
  const [text, setText] = useState('Fix the cart total')
  const [count, setCount] = useState(3)
  const [role, setRole] = useState<string>('member')
  const [agent, setAgent] = useState('agent-2')
  const [isOn, setOn] = useState(true)
  const [events, setEvents] = useState<readonly string[]>(['card.moved'])
  const line = { value: text, onChange: setText }
  return (
    <Part name="Input">
      <TextInput label="Text" hint="A hint about the value." {...line} />
      <TextInput label="Text, empty" placeholder="Placeholder" value="" onChange={() => undefined} />
      <TextInput label="Text, disabled" disabled {...line} />
      <FormFailure value={rejected}>
        <TextInput label="Text, rejected" field="rejected" {...line} />
        <Choice label="Select, rejected" field="rejected" options={roles} value={role} onChange={setRole} />
      </FormFailure>
      <TextArea label="Several lines" {...line} />
      <NumberInput label="Number" min={0} max={10} value={count} onChange={setCount} />
      <Choice label="Select" hint="A hint about the choice." options={roles} value={role} onChange={setRole} />
      <Choice label="Select, disabled" disabled options={roles} value={role} onChange={setRole} />
      <Choice label="Combobox" isSearched options={agents} value={agent} onChange={setAgent} />
      <Combobox label="Add agent" options={agents} newOption={name => `New agent: ${name}`} onChange={showMessage}>
        Add agent…
      </Combobox>
      <Check label="Checkbox" hint="A hint about the checkbox." value={isOn} onChange={setOn} />
      <Check label="Checkbox, disabled" disabled value={isOn} onChange={setOn} />
      <GroupedChecks label="Checkboxes" groups={eventGroups} value={events} onChange={setEvents} />
      <Secret label="Secret" value="svc_key_12345" hint="The key is not shown again." />
    </Part>
  )
}

const loading = { value: undefined, error: undefined, isLoading: true, reload: never, set: () => undefined }

function Lists({ theme }: { theme: string }) {
  const [isLoading, setLoading] = useState(false)
  return (
    <Part name="List, table and state of loading">
      <ul className="rows" aria-label="Rows">
        <li>
          <div className="what">
            <strong>Row</strong>
            <span className="dim">Details</span>
          </div>
          <Button>Edit</Button>
        </li>
      </ul>
      <Table label={`Table, ${theme}`} head={['Name', 'Role', '']}>
        <tr>
          <td>Ada</td>
          <td>Admin</td>
          <td>
            <Button isPlain icon="trash" label="Remove Ada" />
          </td>
        </tr>
      </Table>
      {isLoading ? <Await of={loading}>{() => null}</Await> : <Button onClick={() => setLoading(true)}>Load</Button>}
      <Failure error={new Error('The server does not answer.')} onRetry={never} />
      <p className="notice">A notice</p>
      <Printed label={`Output, ${theme}`} output={'$ npm test\n12 passed'} isCut />
    </Part>
  )
}

const statuses = ['idle', 'queued', 'running', 'waiting', 'completed', 'failed', 'interrupted', 'cancelled']

const Texts = () => (
  <Part name="Status, label, person and icon">
    <div className="tools">
      {statuses.map(status => (
        <Status key={status} status={status} reason={status === 'waiting' ? 'usage_limit' : null} />
      ))}
    </div>
    <div className="tools">
      <Labels labels={['bug', 'docs', 'feature', 'ui', 'urgent']} />
      {['Ada Lovelace', 'Bob', 'Grace Hopper'].map(name => (
        <Fact key={name} name={name}>
          <Person name={name} />
        </Fact>
      ))}
      <Time at="2026-01-31T12:00:00Z" />
      <kbd>Ctrl-K</kbd> <code>npm test</code> <span className="dim">Dim</span> <span className="error">Error</span>
    </div>
    <div className="tools">
      {iconNames.map(name => (
        <Fact key={name} name={name}>
          <Icon name={name} />
        </Fact>
      ))}
    </div>
  </Part>
)
