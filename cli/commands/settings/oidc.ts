import { Option, type Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { openUserContext, type Context } from '../../context/context.ts'
import { Failure, usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'
import { noneAsEmpty } from '../../parsing/arguments.ts'
import { askForLine, askSecret, confirm, readStdin } from '../../input/prompt.ts'
import { readJson } from '../../input/readJson.ts'

type OidcSettings = Output<Contract['oidc']['get']>
type Tested = Output<Contract['oidc']['test']>
interface Options {
  set?: boolean
  issuer?: string
  clientId?: string
  clientSecretStdin?: boolean
  allowDomain?: string[]
  allowGroup?: string[]
  groupsClaim?: string
  emailVerification?: 'required' | 'assumed'
  file?: string
  delete?: boolean
  test?: boolean
  yes?: boolean
}
interface Given {
  issuerUrl: string
  clientId: string
  clientSecret: string
  allowedDomains?: string[]
  allowedGroups?: string[]
  groupsClaim?: string
  emailVerification?: 'required' | 'assumed'
}

const fields: Column<OidcSettings>[] = [
  { name: 'configured', header: 'Single sign-on', value: settings => settings.configured },
  { name: 'issuerUrl', header: 'Issuer', value: settings => settings.issuerUrl },
  { name: 'clientId', header: 'Client ID', value: settings => settings.clientId },
  { name: 'redirectUri', header: 'Redirect URI', value: settings => settings.redirectUri },
  { name: 'allowedDomains', header: 'Domains', value: settings => settings.allowedDomains },
  { name: 'allowedGroups', header: 'Groups', value: settings => settings.allowedGroups },
  { name: 'groupsClaim', header: 'Groups claim', value: settings => settings.groupsClaim },
  { name: 'emailVerification', header: 'Verified addresses', value: settings => settings.emailVerification },
]
const testFields: Column<Tested>[] = [
  { name: 'ok', value: tested => tested.ok },
  { name: 'issuer', value: tested => tested.issuer },
  { name: 'error', value: tested => tested.error },
]

/** Registers the command that configures the identity provider. */
export function registerOidc(settings: Command): void {
  const setters = [
    'set',
    'issuer',
    'clientId',
    'clientSecretStdin',
    'allowDomain',
    'allowGroup',
    'groupsClaim',
    'emailVerification',
    'file',
  ]
  const oidc = settings
    .command('oidc')
    .summary('Configure single sign-on')
    .description(
      'Show, set, test or remove the OpenID Connect provider for single sign-on. Register the redirect URI with the provider.',
    )
    .option('--set', 'change the settings, and prompt for missing values')
    .option('--issuer <url>', 'issuer URL, exactly as the provider states it')
    .option('--client-id <id>', 'client ID from the provider')
    .option('--client-secret-stdin', 'read the client secret from stdin')
    .option('--allow-domain <domain...>', 'allow only verified addresses of these domains; none: all domains')
    .option('--allow-group <group...>', 'allow only members of these groups; none: all users')
    .option('--groups-claim <claim>', 'claim with the groups (default: groups)')
    .addOption(
      new Option(
        '--email-verification <how>',
        'if the provider omits email_verified: reject the sign-in (required, the default), or trust the address (assumed); false is always rejected',
      ).choices(['required', 'assumed']),
    )
    .option(
      '-F, --file <file>',
      'file with a JSON object of issuerUrl, clientId, clientSecret, and optionally allowedDomains, allowedGroups, groupsClaim and emailVerification, or - for stdin',
    )
    .addOption(
      new Option('--delete', 'remove single sign-on; accounts and their sign-ins stay').conflicts([...setters, 'test']),
    )
    .addOption(new Option('--test', "request the provider's metadata").conflicts(setters))
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (options: Options) => {
      const context = await openUserContext(oidc)
      if (options.delete) return remove(context, options.yes)
      if (options.test) return test(context)
      const isSet = setters.some(name => options[name as keyof Options] !== undefined)
      await context.out.record(isSet ? await set(context, options) : await context.client.oidc.get(), fields)
    })
  prints(oidc, 'oidc.get')
  example(
    oidc,
    'board settings oidc',
    'board settings oidc --issuer https://id.example.com --client-id board --client-secret-stdin < secret.txt',
    'board settings oidc --set --allow-domain example.com --allow-group engineers --client-secret-stdin < secret.txt',
    'board settings oidc --test',
  )
}

async function set(context: Context, options: Options): Promise<OidcSettings> {
  if (options.file !== undefined && options.clientSecretStdin)
    throw usage('-F and --client-secret-stdin are mutually exclusive')
  const settings =
    options.file === undefined
      ? await askForSettings(context, options)
      : { ...((await readJson(options.file, '-F')) as Given), ...issuerFieldsOf(options), ...restrictionsOf(options) }
  if (settings.emailVerification === 'assumed') await confirm(context, trustQuestion, options.yes)
  const changed = await context.client.oidc.set(settings)
  context.out.done(`Configured single sign-on. Register this redirect URI with the provider: ${changed.redirectUri}`)
  return changed
}

const trustQuestion =
  'Trust email addresses if the provider sends no email_verified (false still fails)? Anyone who can set an address there can then sign in to the account with that address.'

/** Returns the settings from the options. Required settings that are not set keep the server's value, except the secret. */
async function askForSettings(context: Context, options: Options): Promise<Given> {
  const { issuerUrl, clientId } = { ...(await context.client.oidc.get()), ...issuerFieldsOf(options) }
  return {
    issuerUrl: issuerUrl ?? (await askForLine(context, 'Issuer URL', '--issuer')),
    clientId: clientId ?? (await askForLine(context, 'Client ID', '--client-id')),
    clientSecret: options.clientSecretStdin
      ? await readStdin('--client-secret-stdin')
      : await askSecret(context, 'Client secret', '--client-secret-stdin'),
    ...restrictionsOf(options),
  }
}

const issuerFieldsOf = ({ issuer, clientId }: Options) => ({
  ...(issuer !== undefined && { issuerUrl: issuer }),
  ...(clientId !== undefined && { clientId }),
})

/** Returns the restrictions from the options. Settings that are not set are unchanged. */
const restrictionsOf = ({ allowDomain, allowGroup, groupsClaim, emailVerification }: Options) => ({
  ...(allowDomain && { allowedDomains: noneAsEmpty(allowDomain) }),
  ...(allowGroup && { allowedGroups: noneAsEmpty(allowGroup) }),
  ...(groupsClaim !== undefined && { groupsClaim }),
  ...(emailVerification !== undefined && { emailVerification }),
})

async function remove(context: Context, yes: boolean | undefined): Promise<void> {
  await confirm(context, 'Remove single sign-on? Accounts without a password can no longer sign in.', yes)
  await context.client.oidc.delete()
  context.out.done('Removed single sign-on.')
}

async function test(context: Context): Promise<void> {
  const tested = await context.client.oidc.test()
  await context.out.record(tested, testFields)
  if (!tested.ok)
    throw new Failure('failure', 'the provider cannot be used', {
      hint: tested.error ?? undefined,
      see: 'board settings oidc',
    })
}
