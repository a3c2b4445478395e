import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Choice, linesOf, TextArea, TextInput, type Fields } from '../ui/Inputs.tsx'
import { ResourceSection, type ResourceForm } from '../ui/ResourceSection.tsx'

type Profile = Output<Contract['agentProfiles']['list']>[number]

/** The named configurations of agents. */
export function Profiles() {
  const loaded = useLoad(() => client.agentProfiles.list(), [])
  return (
    <ResourceSection
      of={loaded}
      label="Agent profiles"
      about="A profile is an agent with its own command line, environment and model, for cards, columns and projects."
      empty="No profiles. Cards use agents with their default settings."
      form={profileForm}
      row={({ id, name, agent, model, mode, effort, environment, command, args }) => ({
        name,
        about: (
          <>
            {[agent, model, mode, effort].filter(Boolean).join(' · ')}
            {environment.length > 0 && ` · sets ${environment.join(', ')}`}
            {command && (
              <div>
                <code>{[...command, ...(args ?? [])].join(' ')}</code>
              </div>
            )}
          </>
        ),
        remove: {
          title: `Delete profile ${name}`,
          text: 'Cards, columns and projects that use this profile cannot start an agent until you select another one.',
          run: () => client.agentProfiles.delete({ id }),
        },
      })}
    />
  )
}

/** Parses one `NAME=value` per line. A name without a value removes the variable. */
const environmentOf = (text: string): Record<string, string | null> =>
  Object.fromEntries(
    linesOf(text).map(line => {
      const at = line.indexOf('=')
      return at < 0 ? [line, null] : [line.slice(0, at), line.slice(at + 1)]
    }),
  )

const initial = (profile: Profile | undefined) => ({
  name: '',
  agent: '',
  command: profile?.command?.join('\n') ?? '',
  args: profile?.args?.join('\n') ?? '',
  environment: '',
  model: profile?.model ?? '',
  mode: profile?.mode ?? '',
  effort: profile?.effort ?? '',
})
type Values = ReturnType<typeof initial>

const profileForm: ResourceForm<Profile, Values> = {
  noun: 'profile',
  initial,
  fields: (form, profile) => <ProfileFields {...form} profile={profile} />,
  save: async ({ name, agent, model, mode, effort, ...texts }, profile) => {
    const command = linesOf(texts.command)
    const environment = environmentOf(texts.environment)
    const change = {
      command: command.length === 0 ? null : command,
      args: linesOf(texts.args),
      model: model || null,
      mode: mode || null,
      effort: effort || null,
    }
    if (profile) return client.agentProfiles.update({ id: profile.id, ...change, environment })
    const set = Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, value ?? '']))
    return client.agentProfiles.create({ name, agent, ...change, environment: set })
  },
}

function ProfileFields({ bind, profile }: Fields<Values> & { profile: Profile | undefined }) {
  const agents = useLoad(() => client.agents.providers(), [])
  const options = (agents.value ?? []).map(({ id, name }) => [id, name] as const)
  const kept = profile?.environment ?? []
  return (
    <>
      {!profile && (
        <>
          <TextInput label="Name" required placeholder="fast" {...bind('name')} />
          <Choice isSearched label="Agent" options={[['', 'choose'], ...options]} {...bind('agent')} />
        </>
      )}
      <TextArea
        label="Command"
        hint="The program and its leading arguments, one per line. Empty: the agent's default command."
        {...bind('command')}
      />
      <TextArea label="Arguments" hint="One per line." {...bind('args')} />
      <TextArea
        label="Environment"
        hint={`NAME=value, one per line. Values are stored encrypted and never shown.${kept.length > 0 ? ` Set: ${kept.join(', ')}. These variables are kept. A name without a value removes the variable.` : ''}`}
        {...bind('environment')}
      />
      <TextInput label="Model" placeholder="the agent's default" {...bind('model')} />
      <TextInput label="Mode" placeholder="the agent's default" {...bind('mode')} />
      <TextInput label="Effort" placeholder="the agent's default" {...bind('effort')} />
    </>
  )
}
