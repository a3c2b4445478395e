import { useLoad } from '../app/load.ts'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { confirm } from '../ui/confirm.tsx'
import { Check } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'

/** The settings of authentication and registration. */
export function Authentication() {
  const loaded = useLoad(() => client.auth.getSettings(), [])
  const change = async (settings: { enabled: boolean; registrationEnabled: boolean }) =>
    loaded.set(await client.auth.setSettings(settings))
  return (
    <Await of={loaded}>
      {settings => (
        <>
          <Check
            label="Authentication"
            hint="Without authentication, all people who reach the server have full access."
            value={settings.enabled}
            onChange={enabled => {
              if (enabled) return void change({ ...settings, enabled }).catch(showError)
              confirm({
                title: 'Disable authentication',
                text: 'All people who reach this server can then read and change all data, and start agents on its machine.',
                submit: 'Disable',
                run: () => change({ ...settings, enabled }),
              })
            }}
          />
          <Check
            label="Registration"
            hint="All people who reach the server can create an account. Otherwise, accounts are created by admins and invitations."
            value={settings.registrationEnabled}
            onChange={registrationEnabled => void change({ ...settings, registrationEnabled }).catch(showError)}
          />
        </>
      )}
    </Await>
  )
}
