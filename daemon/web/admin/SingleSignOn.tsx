import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Check, linesOf, TextArea, TextInput } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { Secret } from '../ui/Secret.tsx'
import { SettingsForm } from '../ui/SettingsForm.tsx'
import { Outcome, type Tested } from './Outcome.tsx'

type Settings = Output<Contract['oidc']['get']>

/** The identity provider for single sign-on. */
export function SingleSignOn() {
  const loaded = useLoad(() => client.oidc.get(), [])
  const [outcome, setOutcome] = useState<Tested>()
  const test = async () => {
    const { ok, issuer, error } = await client.oidc.test()
    setOutcome({ ok, text: ok ? `The provider answered: ${issuer}` : (error ?? 'The provider did not answer.') })
  }
  const remove = () =>
    confirm({
      title: 'Remove single sign-on',
      text: 'People can no longer sign in with the identity provider. Accounts without a password lose access.',
      submit: 'Remove',
      run: async () => {
        await client.oidc.delete()
        await loaded.reload()
      },
    })
  return (
    <Await of={loaded}>
      {settings => (
        <>
          <Secret
            label="Redirect URI"
            value={settings.redirectUri}
            hint="Enter this URI at the identity provider when you register the board."
          />
          <OidcForm key={String(settings.configured)} settings={settings} onSaved={loaded.set} />
          {settings.configured && (
            <div className="tools">
              <Button onClick={test}>Test</Button>
              <Button isDanger onClick={remove}>
                Remove
              </Button>
            </div>
          )}
          <Outcome of={outcome} />
        </>
      )}
    </Await>
  )
}

const OidcForm = ({ settings, onSaved }: { settings: Settings; onSaved: (settings: Settings) => void }) => (
  <SettingsForm
    submit="Save"
    saved="Saved single sign-on. Test the connection before you rely on it."
    initial={{
      issuerUrl: settings.issuerUrl ?? '',
      clientId: settings.clientId ?? '',
      clientSecret: '',
      allowedDomains: settings.allowedDomains.join('\n'),
      allowedGroups: settings.allowedGroups.join('\n'),
      groupsClaim: settings.groupsClaim,
      trustsAddresses: settings.emailVerification === 'assumed',
    }}
    save={async ({ trustsAddresses, allowedDomains, allowedGroups, ...values }) =>
      onSaved(
        await client.oidc.set({
          ...values,
          emailVerification: trustsAddresses ? 'assumed' : 'required',
          allowedDomains: linesOf(allowedDomains),
          allowedGroups: linesOf(allowedGroups),
        }),
      )
    }
  >
    {({ bind }) => (
      <>
        <TextInput label="Issuer URL" type="url" required {...bind('issuerUrl')} />
        <TextInput label="Client ID" required {...bind('clientId')} />
        <TextInput
          label="Client secret"
          type="password"
          required
          autoComplete="off"
          hint="Stored encrypted and never shown. Enter the secret again whenever you change these settings."
          {...bind('clientSecret')}
        />
        <TextArea
          label="Allowed domains"
          hint="One per line, for example example.org. Empty: all accounts of the provider."
          {...bind('allowedDomains')}
        />
        <TextArea label="Allowed groups" hint="One per line." {...bind('allowedGroups')} />
        <TextInput label="Groups claim" {...bind('groupsClaim')} />
        <Check
          label="Trust email addresses if the provider sends no email_verified claim"
          hint="Anyone who can set an email address at the provider can sign in to the account with that address. Sign-ins with email_verified: false still fail."
          {...bind('trustsAddresses')}
        />
      </>
    )}
  </SettingsForm>
)
