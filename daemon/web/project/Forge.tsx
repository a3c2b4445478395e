import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { showMessage } from '../app/messages.ts'
import { hrefOf } from '../app/router.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Form } from '../ui/Form.tsx'
import { Check, Choice, NumberInput, TextInput, useFields } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { SecretDialog } from '../ui/Secret.tsx'
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
            <SettingsForm
              settings={forge.settings}
              save={async settings => {
                onChange(await client.projects.update({ id: project.id, forge: settings }))
                await found.reload()
                showMessage('Saved the forge.')
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
  const [made, setMade] = useState<Output<Contract['forges']['giveWebhookSecret']>>()
  const make = () =>
    confirm({
      title: 'Create a webhook secret?',
      text: 'An earlier secret stops working, and deliveries that it signed are rejected.',
      submit: 'Create',
      isDanger: false,
      run: async () => setMade(await client.forges.giveWebhookSecret({ projectId })),
    })
  return (
    <div className="panel">
      <h3>Webhook</h3>
      <p className="hint">
        With a webhook, the forge reports events immediately. Without one, the board polls the forge.
      </p>
      <div className="tools">
        <Button onClick={make}>New secret…</Button>
      </div>
      {made && (
        <SecretDialog
          title="Forge webhook"
          label="Secret"
          value={made.secret}
          hint={`Enter the secret in a webhook on the forge that delivers JSON to ${made.url}. The secret is not shown again.`}
          onClose={() => setMade(undefined)}
        />
      )}
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

function SettingsForm({ settings, projectId, save }: FormProps) {
  const { values, bind } = useFields({
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
  })
  const submit = () =>
    save({
      ...values,
      kind: orNull(values.kind),
      remote: orNull(values.remote),
      base: orNull(values.base),
      credentialId: orNull(values.credentialId),
      command: orNull(values.command),
      issueLabel: orNull(values.issueLabel),
    })
  return (
    <div className="panel">
      <h3>Settings</h3>
      <Form submit="Save forge" onSubmit={submit}>
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
      </Form>
    </div>
  )
}

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
