import { say } from '../app/messages.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Form } from '../ui/Form.tsx'
import { Choice, linesOf, TextArea, TextInput, useFields } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import type { SectionProps } from './ProjectPage.tsx'

const walls = [
  ['server', 'As the server is set'],
  ['require', 'Required: without a sandbox no agent starts'],
  ['off', 'None'],
] as const
const networks = [
  ['full', "The server's"],
  ['listed', 'Listed hosts alone'],
  ['none', 'The board alone'],
] as const
const bounds = [
  ['memoryMb', 'Memory of a session, in MB'],
  ['processes', 'Processes of a session'],
  ['fileMb', 'Size of each file that it writes, in MB'],
  ['minutes', 'Time of a session, in minutes'],
] as const

/** What the project's agents are kept apart by. */
export function Sandbox({ project, onChange }: SectionProps) {
  const status = useLoad(() => client.agents.sandbox(), [])
  const { sandbox } = project
  const { values, bind } = useFields({
    walls: sandbox.walls,
    network: sandbox.network,
    hosts: sandbox.hosts.join('\n'),
    caches: sandbox.caches.join('\n'),
    ...Object.fromEntries(bounds.map(([name]) => [name, sandbox[name] === null ? '' : String(sandbox[name])])),
  } as Record<'hosts' | 'caches' | (typeof bounds)[number][0], string> & Pick<typeof sandbox, 'walls' | 'network'>)
  const save = async () => {
    const changed = {
      walls: values.walls,
      network: values.network,
      hosts: linesOf(values.hosts),
      caches: linesOf(values.caches),
      ...Object.fromEntries(bounds.map(([name]) => [name, values[name] === '' ? null : Number(values[name])])),
    }
    onChange(await client.projects.update({ id: project.id, sandbox: changed }))
    say('Saved. It holds from the next start of an agent on.')
  }
  return (
    <div className="panel">
      <h3>Sandbox</h3>
      <Await of={status}>
        {({ kind, reason, advice }) => (
          <p className="hint">
            {kind === 'none'
              ? `This server has no sandbox: ${reason} ${advice}`
              : `In the sandbox (${kind}) an agent sees the system, the project and its own state, and changes its worktree alone. Monitors and scripts run outside of it.`}
          </p>
        )}
      </Await>
      <Form submit="Save the sandbox" onSubmit={save}>
        <Choice label="Sandbox" options={walls} {...bind('walls')} field="sandbox.walls" />
        <Choice label="Network" options={networks} {...bind('network')} field="sandbox.network" />
        {values.network === 'listed' && (
          <TextArea
            label="Hosts"
            hint="Beside the model and the board. One a line: example.org, *.example.org, example.org:8443"
            spellCheck={false}
            {...bind('hosts')}
            field="sandbox.hosts"
          />
        )}
        <TextArea
          label="Caches that agents may change"
          hint="One folder of the server's home folder a line: ~/.npm"
          spellCheck={false}
          {...bind('caches')}
          field="sandbox.caches"
        />
        {bounds.map(([name, label]) => (
          <TextInput
            key={name}
            label={label}
            hint="Empty for no bound"
            type="number"
            min={1}
            {...bind(name)}
            field={`sandbox.${name}`}
          />
        ))}
      </Form>
    </div>
  )
}
