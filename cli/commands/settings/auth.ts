import { Argument, Option, type Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { openUserContext } from '../../context/context.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'
import { confirm } from '../../input/prompt.ts'

type AuthSettings = Output<Contract['auth']['getSettings']>
type Switch = 'on' | 'off'

const switches: Switch[] = ['on', 'off']
const fields: Column<AuthSettings>[] = [
  { name: 'enabled', header: 'Authentication', value: settings => settings.enabled },
  { name: 'registrationEnabled', header: 'Registration', value: settings => settings.registrationEnabled },
]

/** The command that switches authentication and registration on and off. */
export function registerAuth(settings: Command): void {
  const auth = settings
    .command('auth')
    .addArgument(new Argument('[state]', 'on or off (default: show the current state)').choices(switches))
    .summary('Turn authentication on or off')
    .description(
      'Turn authentication on or off. Without authentication, the account that runs the server acts as super_admin. You cannot turn it off while other machines can reach the server.',
    )
    .addOption(new Option('--registration <state>', 'registration of new accounts').choices(switches))
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (state: Switch | undefined, { registration, yes }: { registration?: Switch; yes?: boolean }) => {
      const context = await openUserContext(auth)
      if (state === 'off')
        await confirm(
          context,
          "Disable authentication? All accounts on the server's machine then act as super_admin.",
          yes,
        )
      const { getSettings, setSettings } = context.client.auth
      if (state === undefined && registration === undefined) return context.out.record(await getSettings(), fields)
      const enabled = state === undefined ? (await getSettings()).enabled : state === 'on'
      await context.out.record(
        await setSettings({ enabled, ...(registration && { registrationEnabled: registration === 'on' }) }),
        fields,
      )
    })
  prints(auth, 'auth.setSettings')
  example(auth, 'board settings auth', 'board settings auth on --registration off', 'board settings auth off --yes')
}
