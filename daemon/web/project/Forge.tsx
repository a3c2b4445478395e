import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { hrefOf } from '../app/router.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Check, Choice, NumberInput, TextInput } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { SettingsForm } from '../ui/SettingsForm.tsx'
import { showSecret } from '../ui/showSecret.tsx'
import { IssueTie } from './IssueTie.tsx'
import type { SectionProps } from './sectionProps.ts'

type Found = Output<Contract['forges']['get']>
type Settings = Found['settings']

const kinds = [
  ['', "Detect from the credential or the remote's URL"],
  ['github', 'GitHub'],
  ['gitlab', 'GitLab'],
  ['gitea', 'Gitea or Forgejo'],
  ['command', 'Other, with a command'],
] as const
const methods = [
  ['merge', 'A merge commit'],
  ['squash', 'One commit (squash)'],
  ['rebase', 'Rebased commits'],
] as const

/** The forge on which the project's work is reviewed and merged. */
export function ForgeSection({ project, mayManage, mayWork, onChange }: SectionProps) {
  const found = useLoad(() => client.forges.get({ projectId: project.id }), [project.id])
  return (
    <Await of={found}>
      {forge => (
        <>
          <FoundForge forge={forge} />
          <IssueTie
            key={`${forge.settings.issueLabel} ${forge.settings.issueComments}`}
            projectId={project.id}
            mayWork={mayWork}
          />
          {mayManage && (
            <ForgeSettings
              settings={forge.settings}
              save={async settings => {
                onChange(await client.projects.update({ id: project.id, forge: settings }))
                await found.reload()
              }}
              projectId={project.id}
            />
          )}
          {mayManage && <Webhook projectId={project.id} />}
        </>
      )}
    </Await>
  )
}

/** The secret that signs deliveries of the forge. */
function Webhook({ projectId }: { projectId: string }) {
  const make = async () => {
    const { secret, url } = await client.forges.giveWebhookSecret({ projectId })
    showSecret({
      title: 'Forge webhook',
      label: 'Secret',
      value: secret,
      hint: `Enter the secret in a webhook on the forge that delivers JSON to ${url}. The secret is not shown again.`,
    })
  }
  const ask = () =>
    confirm({
      title: 'Create a webhook secret?',
      text: 'An earlier secret stops working, and deliveries that it signed are rejected.',
      submit: 'Create',
      isDanger: false,
      run: make,
    })
  return (
    <div className="panel">
      <h3>Webhook</h3>
      <p className="hint">
        With a webhook, the forge reports events immediately. Without one, the board polls the forge.
      </p>
      <div className="tools">
        <Button onClick={ask}>New secret…</Button>
      </div>
    </div>
  )
}

function FoundForge({ forge: { kind, url, repository, remote, problem } }: { forge: Found }) {
  return (
    <div className="panel">
      <h3>Repository</h3>
      {url !== null && (
        <p>
          <a href={url} target="_blank" rel="noopener noreferrer">
            {repository}
          </a>
          , by the remote {remote}
        </p>
      )}
      {kind === 'command' && <p>Another forge, with a command.</p>}
      {problem !== null && <p className="hint">{problem}</p>}
    </div>
  )
}

/** Empty is the forge's own choice. */
const orNull = <T extends string>(text: T | ''): T | null => (text === '' ? null : text)

interface FormProps {
  settings: Settings
  projectId: string
  save: (settings: Settings) => Promise<void>
}

const ForgeSettings = ({ settings, projectId, save }: FormProps) => (
  <SettingsForm
    title="Settings"
    submit="Save forge"
    saved="Saved the forge."
    initial={{
      kind: settings.kind ?? ('' as const),
      remote: settings.remote ?? '',
      base: settings.base ?? '',
      credentialId: settings.credentialId ?? '',
      command: settings.command ?? '',
      mergeMethod: settings.mergeMethod,
      autoMerge: settings.autoMerge,
      maxRounds: settings.maxRounds,
      issueLabel: settings.issueLabel ?? '',
      issueComments: settings.issueComments,
    }}
    save={values =>
      save({
        ...values,
        kind: orNull(values.kind),
        remote: orNull(values.remote),
        base: orNull(values.base),
        credentialId: orNull(values.credentialId),
        command: orNull(values.command),
        issueLabel: orNull(values.issueLabel),
      })
    }
  >
    {({ values, bind }) => (
      <>
        <Choice label="Forge" options={kinds} {...bind('kind')} field="forge.kind" />
        {values.kind === 'command' && (
          <TextInput
            label="Command"
            hint="Reads a request as JSON and prints the response"
            required
            {...bind('command')}
            field="forge.command"
          />
        )}
        <Credential projectId={projectId} kept={settings.credentialId} {...bind('credentialId')} />
        <TextInput
          label="Git remote"
          hint="Empty: the upstream of the branch, or origin"
          {...bind('remote')}
          field="forge.remote"
        />
        <TextInput
          label="Target branch"
          hint="Empty: the forge's default branch"
          {...bind('base')}
          field="forge.base"
        />
        <Choice label="Merge method" options={methods} {...bind('mergeMethod')} field="forge.mergeMethod" />
        <Check label="Auto-merge new pull requests" {...bind('autoMerge')} field="forge.autoMerge" />
        <NumberInput
          label="Rounds"
          hint="Maximum number of feedback rounds per pull request"
          min={0}
          max={100}
          {...bind('maxRounds')}
          field="forge.maxRounds"
        />
        <TextInput
          label="Label of issues that become cards"
          hint="Empty: no issues"
          {...bind('issueLabel')}
          field="forge.issueLabel"
        />
        <Check
          label="Copy comments between an issue and its card"
          {...bind('issueComments')}
          field="forge.issueComments"
        />
      </>
    )}
  </SettingsForm>
)

interface CredentialProps {
  projectId: string
  /** The stored credential, which can belong to another person. */
  kept: string | null
  value: string
  onChange: (value: string) => void
}

function Credential({ projectId, kept, ...bound }: CredentialProps) {
  const own = useLoad(() => client.credentials.list(), [])
  const forges = (own.value ?? []).filter(({ provider }) => ['github', 'gitlab', 'gitea'].includes(provider))
  const isOthers = kept !== null && !forges.some(({ id }) => id === kept)
  return (
    <Choice
      label="Credential"
      hint={
        <>
          The token is sent only to the forge.{' '}
          <a href={hrefOf({ name: 'project', projectId, section: 'credentials' })}>Credentials</a>
        </>
      }
      options={[
        ['', 'None'],
        ...(isOthers ? [[kept, 'Current credential'] as const] : []),
        ...forges.map(({ id, name }) => [id, name] as const),
      ]}
      {...bound}
      field="forge.credentialId"
    />
  )
}
