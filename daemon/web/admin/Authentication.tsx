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
            hint="Without authentication, anyone who can reach the server has full access."
            value={settings.enabled}
            onChange={enabled => {
              if (enabled) return void change({ ...settings, enabled }).catch(showError)
              confirm({
                title: 'Disable authentication',
                text: 'Anyone who can reach this server can then read and change all data, and start agents on its machine.',
                submit: 'Disable',
                run: () => change({ ...settings, enabled }),
              })
            }}
          />
          <Check
            label="Registration"
            hint="Anyone who can reach the server can create an account. If disabled, people need an admin or an invitation."
            value={settings.registrationEnabled}
            onChange={registrationEnabled => void change({ ...settings, registrationEnabled }).catch(showError)}
          />
        </>
      )}
    </Await>
  )
}
