import { useLoad } from '../app/load.ts'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { confirm } from '../ui/confirm.tsx'
import { Check } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'

/** Whether one signs in here at all, and who may make an account. */
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
            hint="Without it everybody who reaches the server is asked nothing and may do all."
            value={settings.enabled}
            onChange={enabled => {
              if (enabled) return void change({ ...settings, enabled }).catch(showError)
              confirm({
                title: 'Switch authentication off',
                text: 'Everybody who reaches this server can then read and change everything, and start agents on its machine.',
                submit: 'Switch it off',
                run: () => change({ ...settings, enabled }),
              })
            }}
          />
          <Check
            label="Registration"
            hint="Everybody who reaches the server may make an account. Without it administrators make them, and invitations do."
            value={settings.registrationEnabled}
            onChange={registrationEnabled => void change({ ...settings, registrationEnabled }).catch(showError)}
          />
        </>
      )}
    </Await>
  )
}
