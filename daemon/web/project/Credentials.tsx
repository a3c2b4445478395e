import { useState } from 'react'
import { useLoad } from '../app/load.ts'
import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { ResourceSection, type ResourceRow } from '../ui/ResourceSection.tsx'
import { credentialForm } from './credentialForm.tsx'
import { CredentialUsage } from './CredentialUsage.tsx'
import { DeviceSignIn } from './DeviceSignIn.tsx'
import type { Credential } from './records.ts'
import type { SectionProps } from './sectionProps.ts'

/** The person's own credentials with providers of models, and which of them the project's agents use. */
export function CredentialsSection(props: SectionProps) {
  const { credentialId } = props.project
  const list = useLoad(() => client.credentials.list(), [])
  const [isSigningIn, setSigningIn] = useState(false)
  const [used, setUsed] = useState<Credential>()
  const signedIn = () => {
    setSigningIn(false)
    void list.reload()
  }
  const belongsToOtherUser = credentialId !== null && list.value?.every(({ id }) => id !== credentialId) === true
  return (
    <>
      <ResourceSection
        of={list}
        label="Credentials"
        about="Agents use credentials to access their models. Only you can see your credentials, and the server stores keys encrypted."
        empty="No credentials. Agents use the credentials of the server's account."
        after={belongsToOtherUser && <li>The project uses another person’s credential.</li>}
        row={credential => rowOf(credential, props, setUsed)}
        form={credentialForm}
        tools={() => (
          <Button icon="person" onClick={() => setSigningIn(true)}>
            Sign in with a device code
          </Button>
        )}
      />
      {used && <CredentialUsage credential={used} onClose={() => setUsed(undefined)} />}
      {isSigningIn && <DeviceSignIn onClose={signedIn} />}
    </>
  )
}

function rowOf(
  { id, ...credential }: Credential,
  { project, mayManage, onChange }: SectionProps,
  showUsage: (credential: Credential) => void,
): ResourceRow {
  const { name, provider, baseUrl, kind, headers, models } = credential
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
  const remove = async () => {
    await client.credentials.delete({ id })
    if (isUsed) onChange({ ...project, credentialId: null })
  }
  return {
    name,
    badges: [provider],
    status: isUsed && <span className="status completed">used by this project</span>,
    about: [
      kind === 'oauth' ? 'signed in' : 'key',
      baseUrl,
      headers.length > 0 && `headers ${headers.join(', ')}`,
      models.join(', '),
    ]
      .filter(Boolean)
      .join(' · '),
    remove: {
      text: 'Agents that used this credential fall back to the credential of their project, their organization or the server.',
      run: remove,
    },
    actions: [
      mayManage && { label: isUsed ? 'Stop using in project' : 'Use in project', run: choose },
      { label: 'Check', run: verify },
      { label: 'Usage', run: () => showUsage({ id, ...credential }) },
    ],
  }
}
