import { useState } from 'react'
import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Rows, useEditing } from '../ui/Rows.tsx'
import { CredentialUsage } from './CredentialUsage.tsx'
import { EditCredential } from './EditCredential.tsx'
import { DeviceSignIn } from './DeviceSignIn.tsx'
import type { Credential } from './records.ts'
import type { SectionProps } from './sectionProps.ts'

/** The person's own credentials with providers of models, and which of them the project's agents use. */
export function CredentialsSection(props: SectionProps) {
  const { project } = props
  const list = useLoad(() => client.credentials.list(), [])
  const editing = useEditing<Credential>(list)
  const [isSigningIn, setSigningIn] = useState(false)
  const [used, setUsed] = useState<Credential>()
  const signedIn = () => {
    setSigningIn(false)
    void list.reload()
  }
  const belongsToOtherUser =
    project.credentialId !== null && list.value?.every(({ id }) => id !== project.credentialId) === true
  return (
    <>
      <p>
        Agents use credentials to access their models. Only you can see your credentials. Agents of a project can also
        use a credential that you select for the project. Keys are stored encrypted.
      </p>
      <div className="tools">
        <Button isMain icon="add" onClick={editing.add}>
          Add key
        </Button>
        <Button icon="person" onClick={() => setSigningIn(true)}>
          Sign in with a device code
        </Button>
      </div>
      <Rows
        of={list}
        label="Credentials"
        empty="No credentials. Agents use the credentials of the server's account."
        after={belongsToOtherUser && <li>The project uses another person’s credential.</li>}
      >
        {credential => (
          <CredentialRow
            {...props}
            credential={credential}
            onEdit={() => editing.edit(credential)}
            onUsage={() => setUsed(credential)}
            reload={list.reload}
          />
        )}
      </Rows>
      {editing.isOpen && <EditCredential {...editing.dialog} credential={editing.edited} />}
      {used && <CredentialUsage credential={used} onClose={() => setUsed(undefined)} />}
      {isSigningIn && <DeviceSignIn onClose={signedIn} />}
    </>
  )
}

interface RowProps extends SectionProps {
  credential: Credential
  onEdit: () => void
  onUsage: () => void
  reload: () => Promise<void>
}

function CredentialRow({ project, mayManage, onChange, credential, onEdit, onUsage, reload }: RowProps) {
  const { id, name, provider, baseUrl, kind, headers, models } = credential
  const isUsed = project.credentialId === id
  const choose = async () => {
    const credentialId = isUsed ? null : id
    await client.credentials.choose({ projectId: project.id, credentialId })
    onChange({ ...project, credentialId })
    showMessage(isUsed ? 'The project no longer uses your credential.' : `Agents of the project now use ${name}.`)
  }
  const verify = async () => {
    const { valid, detail } = await client.credentials.verify({ id })
    if (!valid) throw new Error(`${name} is invalid${detail ? `: ${detail}` : '.'}`)
    showMessage(`${name} is valid.`)
  }
  const remove = () =>
    confirm({
      title: `Delete ${name}`,
      text: 'Agents that used this credential fall back to the credential of their project, their organization or the server.',
      submit: 'Delete',
      run: async () => {
        await client.credentials.delete({ id })
        if (isUsed) onChange({ ...project, credentialId: null })
        await reload()
      },
    })
  return (
    <>
      <div className="what">
        <strong>{name}</strong> <span className="label">{provider}</span>{' '}
        {isUsed && <span className="status completed">used by this project</span>}
        <div className="dim">
          {kind === 'oauth' ? 'signed in' : 'key'}
          {baseUrl && ` · ${baseUrl}`}
          {headers.length > 0 && ` · headers ${headers.join(', ')}`}
          {models.length > 0 && ` · ${models.join(', ')}`}
        </div>
      </div>
      <div className="tools">
        {mayManage && (
          <Button onClick={choose} aria-label={isUsed ? `Stop using ${name}` : `Use in project: ${name}`}>
            {isUsed ? 'Stop using' : 'Use in project'}
          </Button>
        )}
        <Button onClick={verify} aria-label={`Check ${name}`}>
          Check
        </Button>
        <Button onClick={onUsage} aria-label={`Usage of ${name}`}>
          Usage
        </Button>
        <Button onClick={onEdit} aria-label={`Edit ${name}`}>
          Edit
        </Button>
        <Button isDanger onClick={remove} aria-label={`Delete ${name}`}>
          Delete
        </Button>
      </div>
    </>
  )
}
