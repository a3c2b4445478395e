import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Choice, linesOf, TextArea, TextInput, useFields } from '../ui/Inputs.tsx'
import { Rows, useEditing, type EditProps } from '../ui/Rows.tsx'

type Profile = Output<Contract['agentProfiles']['list']>[number]

/** The named configurations of agents. */
export function Profiles() {
  const loaded = useLoad(() => client.agentProfiles.list(), [])
  const editing = useEditing<Profile>(loaded)
  const remove = ({ id, name }: Profile) =>
    confirm({
      title: `Delete profile ${name}`,
      text: 'Cards, columns and projects that use this profile cannot start an agent until you select another one.',
      submit: 'Delete',
      run: async () => {
        await client.agentProfiles.delete({ id })
        await loaded.reload()
      },
    })
  return (
    <>
      <p>
        A profile is an agent with its own command line, environment and model. You can select it for cards, columns and
        projects.
      </p>
      <div className="tools">
        <Button isMain icon="add" onClick={editing.add}>
          New profile
        </Button>
      </div>
      <Rows of={loaded} label="Agent profiles" empty="No profiles.">
        {profile => (
          <>
            <div className="what">
              <strong>{profile.name}</strong>
              <div className="dim">
                {[profile.agent, profile.model, profile.mode, profile.effort].filter(Boolean).join(' · ')}
                {profile.environment.length > 0 && ` · sets ${profile.environment.join(', ')}`}
              </div>
              {profile.command && <code>{[...profile.command, ...(profile.args ?? [])].join(' ')}</code>}
            </div>
            <Button aria-label={`Edit ${profile.name}`} onClick={() => editing.edit(profile)}>
              {' '}
              Edit{' '}
            </Button>
            <Button isDanger aria-label={`Delete ${profile.name}`} onClick={() => remove(profile)}>
              Delete
            </Button>
          </>
        )}
      </Rows>
      {editing.isOpen && <ProfileDialog {...editing.dialog} profile={editing.edited} />}
    </>
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

function ProfileDialog({ profile, onClose, onSaved }: EditProps & { profile?: Profile }) {
  const agents = useLoad(() => client.agents.providers(), [])
  const { values, bind } = useFields({
    name: '',
    agent: '',
    command: profile?.command?.join('\n') ?? '',
    args: profile?.args?.join('\n') ?? '',
    environment: '',
    model: profile?.model ?? '',
    mode: profile?.mode ?? '',
    effort: profile?.effort ?? '',
  })
  const save = async () => {
    const { name, agent, model, mode, effort } = values
    const command = linesOf(values.command)
    const environment = environmentOf(values.environment)
    const change = {
      command: command.length === 0 ? null : command,
      args: linesOf(values.args),
      model: model || null,
      mode: mode || null,
      effort: effort || null,
    }
    if (profile) await client.agentProfiles.update({ id: profile.id, ...change, environment })
    else
      await client.agentProfiles.create({
        name,
        agent,
        ...change,
        environment: Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, value ?? ''])),
      })
    await onSaved()
  }
  const options = (agents.value ?? []).map(({ id, name }) => [id, name] as const)
  return (
    <FormDialog
      title={profile ? `Profile ${profile.name}` : 'New profile'}
      onClose={onClose}
      submit="Save"
      onSubmit={save}
    >
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
        hint={`NAME=value, one per line. Values are stored encrypted and never shown.${profile && profile.environment.length > 0 ? ` Set: ${profile.environment.join(', ')}. These variables are kept. A name without a value removes the variable.` : ''}`}
        {...bind('environment')}
      />
      <TextInput label="Model" placeholder="the agent's default" {...bind('model')} />
      <TextInput label="Mode" placeholder="the agent's default" {...bind('mode')} />
      <TextInput label="Effort" placeholder="the agent's default" {...bind('effort')} />
    </FormDialog>
  )
}
