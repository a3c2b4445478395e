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
  const isSomebodyElses =
    project.credentialId !== null && list.value?.every(({ id }) => id !== project.credentialId) === true
  return (
    <>
      <p>
        With these your agents reach their models. They are yours: nobody else sees or uses them, except agents of a
        project whose own they are. Keys are kept sealed.
      </p>
      <div className="tools">
        <Button isMain icon="add" onClick={editing.add}>
          Add a key
        </Button>
        <Button icon="person" onClick={() => setSigningIn(true)}>
          Sign in with a device code
        </Button>
      </div>
      <Rows
        of={list}
        label="Credentials"
        empty="You have none. Agents use what the server's account has."
        after={isSomebodyElses && <li>The project uses a credential of somebody else.</li>}
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
    showMessage(isUsed ? 'The project uses no credential of yours now.' : `Agents of the project use ${name} now.`)
  }
  const verify = async () => {
    const { valid, detail } = await client.credentials.verify({ id })
    if (!valid) throw new Error(`${name} is not good${detail ? `: ${detail}` : '.'}`)
    showMessage(`${name} is good.`)
  }
  const remove = () =>
    confirm({
      title: `Delete ${name}`,
      text: 'Agents that used this credential fall back to that of their project, their organization or the server.',
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
          <Button onClick={choose} aria-label={isUsed ? `Stop using ${name}` : `Use here: ${name}`}>
            {isUsed ? 'Stop using' : 'Use here'}
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
