import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { announce } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Form } from '../ui/Form.tsx'
import { Choice, TextInput, useFields } from '../ui/Inputs.tsx'
import { Secret } from '../ui/Secret.tsx'
import { formatTime } from '../ui/Time.tsx'
import { usePoll } from '../ui/usePoll.ts'
import { modelProviders, type ProviderOfModels } from './credentialForm.tsx'

type Begun = Output<Contract['credentials']['initOauth']>
type Status = Output<Contract['credentials']['oauthStatus']>['status']

/** Signs in with a provider on another device or in another window: with a code that the user types there. */
export function DeviceSignIn({ onClose }: { onClose: () => void }) {
  const [begun, setBegun] = useState<Begun>()
  return (
    <Dialog title="Sign in with a device code" onClose={onClose}>
      {begun ? <Pending begun={begun} onClose={onClose} /> : <Begin onBegun={setBegun} onClose={onClose} />}
    </Dialog>
  )
}

function Begin({ onBegun, onClose }: { onBegun: (begun: Begun) => void; onClose: () => void }) {
  const { values, bind } = useFields({ provider: 'github' as ProviderOfModels, name: '', baseUrl: '', clientId: '' })
  const begin = async () => {
    const { provider, name, baseUrl, clientId } = values
    onBegun(
      await client.credentials.initOauth({
        provider,
        ...(name !== '' && { name }),
        ...(baseUrl !== '' && { baseUrl }),
        ...(clientId !== '' && { clientId }),
      }),
    )
  }
  return (
    <Form submit="Get a code" onSubmit={begin} onCancel={onClose}>
      <Choice label="Provider" options={modelProviders} {...bind('provider')} />
      <TextInput label="Name" maxLength={200} {...bind('name')} />
      <details>
        <summary>Custom application</summary>
        <TextInput label="Base URL" type="url" {...bind('baseUrl')} />
        <TextInput label="Client ID" {...bind('clientId')} />
      </details>
    </Form>
  )
}

const outcomes: Record<Status, string> = {
  pending: 'Waiting for the code…',
  complete: 'You are signed in. You can now use the credential.',
  failed: 'The provider rejected the request. Start again.',
  expired: 'The code has expired. Start again.',
}

function Pending({ begun, onClose }: { begun: Begun; onClose: () => void }) {
  const [status, setStatus] = useState<Status>('pending')
  usePoll(status === 'pending', 2000, async () => {
    const now = await client.credentials.oauthStatus({ id: begun.credentialId })
    setStatus(now.status)
    if (now.status !== 'pending') announce(outcomes[now.status])
  })
  // The provider sends the address, so only web addresses become links.
  const isPage = /^https?:\/\//i.test(begun.verificationUri)
  return (
    <div className="form">
      <p>
        Open{' '}
        {isPage ? (
          <a href={begun.verificationUri} target="_blank" rel="noreferrer noopener">
            {begun.verificationUri}
          </a>
        ) : (
          <code>{begun.verificationUri}</code>
        )}{' '}
        and enter this code:
      </p>
      <Secret label="Code" value={begun.userCode} hint={`Valid until ${formatTime(begun.expiresAt, 'clock')}.`} />
      <p className={status === 'pending' || status === 'complete' ? undefined : 'error'}>{outcomes[status]}</p>
      <div className="buttons">
        <Button isMain={status !== 'pending'} onClick={onClose}>
          {status === 'pending' ? 'Close' : 'Done'}
        </Button>
      </div>
    </div>
  )
}
