import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Choice, linesOf, TextArea, TextInput } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { SettingsForm } from '../ui/SettingsForm.tsx'
import { AgentSlots } from './AgentSlots.tsx'
import type { SectionProps } from './sectionProps.ts'
import { Sandbox } from './Sandbox.tsx'
import { Silence } from './Silence.tsx'

/** The settings of the project's agents: their defaults, their permissions, and the action at a usage limit. */
export function AgentsSection(props: SectionProps) {
  const { project, onChange } = props
  const known = useKnownAgents()
  return (
    <Await of={known}>
      {value => (
        <>
          <AgentChoice
            known={value}
            value={project}
            none="the server's"
            hint="Cards and columns override these settings. By default, the server’s settings apply."
            save={async choice => onChange(await client.projects.update({ id: project.id, ...choice }))}
          />
          <AgentSlots {...props} />
          <Approvals {...props} />
          <UsageLimits {...props} known={value} />
          <Silence {...props} />
          <Sandbox {...props} />
        </>
      )}
    </Await>
  )
}

/** The agents, their profiles and the person's credentials. */
export const useKnownAgents = () =>
  useLoad(
    async () => ({
      agents: await client.agents.providers(),
      profiles: await client.agentProfiles.list(),
      credentials: await client.credentials.list(),
    }),
    [],
  )

export interface AgentOptions {
  agents: Awaited<ReturnType<typeof client.agents.providers>>
  profiles: Awaited<ReturnType<typeof client.agentProfiles.list>>
  credentials: Awaited<ReturnType<typeof client.credentials.list>>
}
type WithAgentOptions = SectionProps & { known: AgentOptions }
type Named = readonly { id: string; name: string }[]

const options = (named: Named, none: string) =>
  [['', none], ...named.map(({ id, name }) => [id, name] as const)] as readonly (readonly [string, string])[]
/** The agents to choose from, and first the choice of none. */
export const agentOptions = (known: AgentOptions | undefined, none: string) =>
  options(
    (known?.agents ?? []).map(({ id, name, installed }) => ({
      id,
      name: installed ? name : `${name} (not installed)`,
    })),
    none,
  )
export const profileOptions = ({ profiles }: AgentOptions) =>
  options(
    profiles.map(({ name, agent }) => ({ id: name, name: `${name} (${agent})` })),
    'none',
  )

interface AgentChoiceProps {
  known: AgentOptions
  value: Choices
  /** The level that decides open settings: "the server's". */
  none: string
  hint: string
  save: (choice: Choices) => Promise<void>
}
type Choices = Pick<SectionProps['project'], 'agent' | 'profile' | 'model' | 'mode' | 'effort'>

/** The agent, with its profile, model, mode and effort. */
export function AgentChoice({ known, value, none, hint, save }: AgentChoiceProps) {
  return (
    <SettingsForm
      title="Default agent"
      hint={hint}
      submit="Save agent"
      saved="Saved the agent settings for future starts."
      initial={{
        agent: value.agent ?? '',
        profile: value.profile ?? '',
        model: value.model ?? '',
        mode: value.mode ?? '',
        effort: value.effort ?? '',
      }}
      save={({ agent, profile, model, mode, effort }) =>
        save({
          agent: agent || null,
          profile: profile || null,
          model: model || null,
          mode: mode || null,
          effort: effort || null,
        })
      }
    >
      {({ values, bind }) => {
        const chosen = known.profiles.find(({ name }) => name === values.profile)?.agent ?? values.agent
        const agent = known.agents.find(({ id }) => id === chosen)
        return (
          <>
            <Choice isSearched label="Agent" options={agentOptions(known, none)} {...bind('agent')} />
            {known.profiles.length > 0 && (
              <Choice isSearched label="Profile" options={profileOptions(known)} {...bind('profile')} />
            )}
            <Option label="Model" offered={agent?.models} {...bind('model')} />
            <Option label="Mode" offered={agent?.modes} {...bind('mode')} />
            <Option label="Effort" offered={agent?.efforts} {...bind('effort')} />
          </>
        )
      }}
    </SettingsForm>
  )
}

/** A list if the agent has reported its options, else a text field. */
function Option({
  offered = [],
  ...rest
}: {
  label: string
  offered?: Named
  error?: string
  value: string
  onChange: (value: string) => void
}) {
  if (offered.length > 0) return <Choice isSearched options={options(offered, "the agent's default")} {...rest} />
  return <TextInput placeholder="the agent's default" spellCheck={false} {...rest} />
}

const policies = [
  ['ask', 'ask a person'],
  ['allow_in_worktree', 'allow reading and editing in the worktree, ask for the rest'],
  ['refuse', 'refuse'],
] as const

const Approvals = ({ project: { id, approvalPolicy: policy }, onChange }: SectionProps) => (
  <SettingsForm
    title="Questions from agents"
    submit="Save answers"
    saved="Saved the answers to questions from agents."
    initial={{ default: policy.default, allow: policy.allow.join('\n'), refuse: policy.refuse.join('\n') }}
    save={async values => {
      const approvalPolicy = { default: values.default, allow: linesOf(values.allow), refuse: linesOf(values.refuse) }
      onChange(await client.projects.update({ id, approvalPolicy }))
    }}
  >
    {({ bind }) => (
      <>
        <Choice label="Default answer" options={policies} {...bind('default')} field="approvalPolicy.default" />
        <TextArea
          label="Always allow these commands"
          hint="One prefix per line: git status covers git status --short. Commands with ;, &, |, a substitution or a redirection are never covered."
          spellCheck={false}
          {...bind('allow')}
          field="approvalPolicy.allow"
        />
        <TextArea
          label="Always refuse these commands"
          hint="Overrides the allowed commands."
          spellCheck={false}
          {...bind('refuse')}
          field="approvalPolicy.refuse"
        />
      </>
    )}
  </SettingsForm>
)

const onLimits = [
  ['stop', 'the card fails'],
  ['wait', 'wait until the limit resets, then continue'],
  ['next', 'continue with the next agent in a list'],
] as const
interface Next {
  agent: string | null
  profile: string | null
  credentialId: string | null
}

const UsageLimits = ({ project: { id, usageLimits }, onChange, known }: WithAgentOptions) => (
  <SettingsForm<{ onLimit: 'stop' | 'wait' | 'next'; next: Next[] }>
    title="When an agent reaches its usage limit"
    submit="Save limit"
    saved="Saved the action at a usage limit."
    initial={usageLimits}
    save={async values => onChange(await client.projects.update({ id, usageLimits: values }))}
  >
    {({ values, bind, setValues }) => {
      const change = (at: number, entry: Next | undefined) =>
        setValues(before => ({ ...before, next: before.next.toSpliced(at, 1, ...(entry ? [entry] : [])) }))
      return (
        <>
          <Choice label="Action" options={onLimits} {...bind('onLimit')} field="usageLimits.onLimit" />
          {values.onLimit === 'next' && (
            <>
              <ol className="rows">
                {values.next.map((entry, at) => (
                  <li key={at}>
                    <NextEntry at={at} entry={entry} known={known} onChange={changed => change(at, changed)} />
                  </li>
                ))}
              </ol>
              <Button
                icon="add"
                disabled={values.next.length >= 10}
                onClick={() => change(values.next.length, { agent: null, profile: null, credentialId: null })}
              >
                Add agent
              </Button>
            </>
          )}
        </>
      )
    }}
  </SettingsForm>
)

function NextEntry({
  at,
  entry,
  known,
  onChange,
}: {
  at: number
  entry: Next
  known: AgentOptions
  onChange: (entry: Next | undefined) => void
}) {
  const bind = (key: keyof Next) => ({
    value: entry[key] ?? '',
    onChange: (value: string) => onChange({ ...entry, [key]: value || null }),
  })
  return (
    <>
      <Choice isSearched label={`Agent ${at + 1}`} options={options(known.agents, 'unchanged')} {...bind('agent')} />
      <Choice isSearched label={`Profile ${at + 1}`} options={profileOptions(known)} {...bind('profile')} />
      <Choice
        label={`Credential ${at + 1}`}
        options={options(known.credentials, 'unchanged')}
        {...bind('credentialId')}
      />
      <Button isPlain icon="trash" label={`Remove ${at + 1} from the list`} onClick={() => onChange(undefined)} />
    </>
  )
}
