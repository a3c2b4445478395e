import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Choice, linesOf, TextArea, TextInput } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { SettingsForm } from '../ui/SettingsForm.tsx'
import type { SectionProps } from './sectionProps.ts'

const modes = [
  ['inherit', 'Default of the server'],
  ['require', 'Required: agents start only in a sandbox'],
  ['off', 'None'],
] as const
const networks = [
  ['full', "The server's"],
  ['listed', 'Listed hosts only'],
  ['none', 'The board only'],
] as const
const monitorChoices = [
  ['ask', 'After approval by a person who can run scripts'],
  ['allow', 'Immediately'],
] as const
const bounds = [
  ['memoryMiB', 'Memory per session, in MB'],
  ['processes', 'Processes per session'],
  ['fileMiB', 'Size per written file, in MB'],
  ['minutes', 'Time per session, in minutes'],
] as const

type Settings = SectionProps['project']['sandbox']
type Values = Record<'hosts' | 'caches' | (typeof bounds)[number][0], string> &
  Pick<Settings, 'mode' | 'network' | 'monitors'>

/** A project's settings as a form has them. */
const fieldsOf = ({ mode, network, hosts, caches, monitors, ...limits }: Settings) =>
  ({
    mode,
    network,
    hosts: hosts.join('\n'),
    caches: caches.join('\n'),
    monitors,
    ...Object.fromEntries(bounds.map(([name]) => [name, limits[name] === null ? '' : String(limits[name])])),
  }) as Values

const settingsOf = ({ mode, network, hosts, caches, monitors, ...limits }: Values) => ({
  mode,
  network,
  hosts: linesOf(hosts),
  caches: linesOf(caches),
  monitors,
  ...Object.fromEntries(bounds.map(([name]) => [name, limits[name] === '' ? null : Number(limits[name])])),
})

/** The sandbox settings of the project's agents. */
export const Sandbox = ({ project: { id, sandbox }, onChange }: SectionProps) => (
  <SettingsForm
    title="Sandbox"
    hint={<ServerSandbox />}
    submit="Save sandbox"
    saved="Saved the sandbox for future starts of agents."
    initial={fieldsOf(sandbox)}
    save={async values => onChange(await client.projects.update({ id, sandbox: settingsOf(values) }))}
  >
    {({ values, bind }) => (
      <>
        <Choice label="Sandbox" options={modes} {...bind('mode')} field="sandbox.mode" />
        <Choice label="Network" options={networks} {...bind('network')} field="sandbox.network" />
        {values.network === 'listed' && (
          <TextArea
            label="Hosts"
            hint="In addition to the model and the board. One per line: example.org, *.example.org, example.org:8443"
            spellCheck={false}
            {...bind('hosts')}
            field="sandbox.hosts"
          />
        )}
        <TextArea
          label="Writable caches"
          hint="Folders in the server's home folder, one per line: ~/.npm"
          spellCheck={false}
          {...bind('caches')}
          field="sandbox.caches"
        />
        <Choice
          label="Approval of monitors, which run outside the sandbox"
          options={monitorChoices}
          {...bind('monitors')}
          field="sandbox.monitors"
        />
        {bounds.map(([name, label]) => (
          <TextInput
            key={name}
            label={label}
            hint="Empty: no limit"
            type="number"
            min={1}
            {...bind(name)}
            field={`sandbox.${name}`}
          />
        ))}
      </>
    )}
  </SettingsForm>
)

const inOneLine = (...sentences: Array<string | null>): string => sentences.filter(Boolean).join(' ')

/** Describes the server's sandbox and its limits, or the advice if there is none. */
function ServerSandbox() {
  const status = useLoad(() => client.agents.sandbox(), [])
  return (
    <Await of={status}>
      {({ kind, reason, advice, bounds: kept }) => (
        <>
          <p className="hint">
            {kind === 'none'
              ? inOneLine('This server has no sandbox:', reason, advice)
              : `In the sandbox (${kind}), an agent can read the system, the project and its own state, and change only its worktree. Approved monitors and scripts run outside the sandbox.`}
          </p>
          {kind !== 'none' && (
            <p className="hint">
              {kept.kind === 'cgroup'
                ? `The kernel enforces the memory and processes of each session, by default ${kept.defaults.memoryMiB} MB and ${kept.defaults.processes} processes.`
                : inOneLine(
                    'The server counts memory and processes of sessions every second.',
                    kept.reason,
                    kept.advice,
                  )}
            </p>
          )}
        </>
      )}
    </Await>
  )
}
