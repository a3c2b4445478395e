import { Option, type Command } from 'commander'
import { setTimeout as delay } from 'node:timers/promises'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { openUserContext, type Context } from '../context/context.ts'
import { Failure, usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import type { Column } from '../output/output.ts'
import { askSecret, confirm, readStdin } from '../input/prompt.ts'
import { environmentValue } from '../input/secretValues.ts'
import { collect, count, noneAsEmpty, orWord, wordAsNull } from '../parsing/arguments.ts'
import { resolveCredential } from '../context/resolve.ts'
import { escapeControls } from '../output/text.ts'

type Credential = Output<Contract['credentials']['list']>[number]
type Masked = Output<Contract['credentials']['get']>
type Day = Output<Contract['credentials']['usage']>['byDay'][number]
type Provider = Credential['provider']
/** The secret parts of a credential: its key and header values. */
interface SecretOptions {
  apiKeyStdin?: boolean
  headerStdin?: string
  headerEnv?: string[]
  model?: string[]
}
interface EditOptions extends SecretOptions {
  name?: string
  removeHeaders?: boolean
  slots?: number | 'none'
}
interface AddOptions extends SecretOptions {
  provider: Provider
  baseUrl?: string
  oauth?: boolean
  clientId?: string
}

const askEveryMs = 1000
const providers: Provider[] = ['anthropic', 'openai', 'google', 'openrouter', 'github', 'gitlab', 'gitea', 'custom']
const columns: Column<Credential>[] = [
  { name: 'id', style: 'id', align: 'right', value: credential => credential.id },
  { name: 'name', style: 'title', value: credential => credential.name },
  { name: 'provider', value: credential => credential.provider },
  { name: 'kind', value: credential => credential.kind },
  { name: 'baseUrl', header: 'BASE URL', style: 'text', value: credential => credential.baseUrl },
  { name: 'createdAt', header: 'CREATED', style: 'time', value: credential => credential.createdAt },
]
const fields: Column<Masked & { authorization: string | null }>[] = [
  ...columns,
  { name: 'headers', value: credential => credential.headers },
  { name: 'models', value: credential => credential.models },
  { name: 'agentSlots', header: 'Slots', value: credential => credential.agentSlots },
  { name: 'apiKey', header: 'API key', value: credential => credential.apiKey },
  { name: 'authorization', value: credential => credential.authorization },
  { name: 'updatedAt', header: 'Updated', style: 'time', value: credential => credential.updatedAt },
]
const days: Column<Day>[] = [
  { name: 'day', value: day => day.day },
  { name: 'sessions', align: 'right', value: day => day.sessions },
  { name: 'inputTokens', header: 'INPUT TOKENS', align: 'right', value: day => day.inputTokens },
  { name: 'outputTokens', header: 'OUTPUT TOKENS', align: 'right', value: day => day.outputTokens },
  { name: 'costUsd', header: 'USD', align: 'right', value: day => day.costUsd.toFixed(2) },
]

export function register(credentials: Command): void {
  const list = credentials
    .command('list')
    .summary('List your credentials')
    .description('List your credentials for model providers and forges.')
    .action(async () => {
      const context = await openUserContext(list)
      await context.out.list(await context.client.credentials.list(), columns, {
        empty: 'No credentials. Add one: board credentials add <name> --provider <provider>',
      })
    })
  prints(list, 'credentials.list')
  example(list, 'board credentials list', 'board credentials list --json name,provider')

  const view = credentials
    .command('view <credential>')
    .summary('Show a credential')
    .description('Show a credential and the last four characters of its API key.')
    .action(async (wanted: string) => {
      const context = await openUserContext(view)
      const credential = await context.client.credentials.get({ id: (await resolveCredential(context, wanted)).id })
      const authorization =
        credential.kind === 'oauth'
          ? (await context.client.credentials.oauthStatus({ id: credential.id })).status
          : null
      await context.out.record({ ...credential, authorization }, fields)
    })
  prints(view, 'credentials.get', 'authorization')
  example(view, 'board credentials view work')
  registerAdd(credentials)
  registerEdit(credentials)
  registerDelete(credentials)
  registerVerify(credentials)
  registerUsage(credentials)
}

function registerAdd(credentials: Command): void {
  const described = credentials
    .command('add <name>')
    .summary('Add a credential')
    .description(
      'Add the API key of a provider, or authorize the server in your browser with --oauth. The server stores the credential encrypted.',
    )
    .addOption(new Option('--provider <provider>', 'provider').choices(providers).makeOptionMandatory())
    .option('--api-key-stdin', 'read the API key from stdin')
    .option('--base-url <url>', "address of the provider's API (default: the usual one)")
  const add = addSentOptions(described)
    .addOption(new Option('--oauth', 'authorize in your browser (github, google, custom)').conflicts('apiKeyStdin'))
    .option('--client-id <id>', 'with --oauth: ID of the OAuth client, if the server has none')
    .action(async (name: string, options: AddOptions) => {
      if (options.clientId !== undefined && !options.oauth) throw usage('--client-id requires --oauth')
      if (options.oauth && isSent(options)) throw usage('headers and models require an API key, not --oauth')
      const context = await openUserContext(add)
      const credential = await (options.oauth
        ? authorizeDevice(context, name, options)
        : saveCredential(context, name, options))
      context.out.done(`Added credential ${credential.id}.`)
      await context.out.record(credential, columns.slice(0, 4))
    })
  prints(add, 'credentials.list')
  example(
    add,
    'board credentials add work --provider anthropic --api-key-stdin < key.txt',
    'board credentials add local --provider custom --base-url http://127.0.0.1:11434/v1',
    'board credentials add gateway --provider custom --base-url https://ai.example.com/v1 --header-env X-Team=TEAM_TOKEN --model big --api-key-stdin < key.txt',
    'board credentials add hub --provider github --oauth',
  )
}

/** Adds the options for headers and models of an API key. */
const addSentOptions = (command: Command): Command =>
  command
    .option('--header-stdin <header>', 'header of each request, with its value from stdin')
    .option(
      '--header-env <name=variable>',
      'header of each request, with its value from an environment variable (repeatable)',
      collect,
    )
    .option('--model <model>', 'model of the provider, as agents name it (repeatable)', collect)

const isSent = ({ headerStdin, headerEnv, model }: SecretOptions): boolean =>
  headerStdin !== undefined || headerEnv !== undefined || model !== undefined

async function saveCredential(context: Context, name: string, options: AddOptions): Promise<Credential> {
  const { provider, baseUrl, apiKeyStdin, model } = options
  const headers = await readHeaders(options)
  const apiKey = apiKeyStdin
    ? await readStdin('--api-key-stdin')
    : await askSecret(context, 'API key', '--api-key-stdin')
  return context.client.credentials.create({ name, provider, apiKey, baseUrl, headers, models: model })
}

/** The specified headers with their values. @throws Failure (usage) if a header has no value */
async function readHeaders({ apiKeyStdin, headerStdin, headerEnv = [] }: SecretOptions) {
  if (apiKeyStdin && headerStdin !== undefined)
    throw usage('--api-key-stdin and --header-stdin both read stdin', { hint: 'specify the header with --header-env' })
  const headers = Object.fromEntries(
    headerEnv.map(text => {
      const [, name, variable] = /^([^=\s]+)=([A-Za-z_]\w*)$/.exec(text) ?? []
      if (name === undefined || variable === undefined)
        throw usage('--header-env requires the name of a header, = and the name of a variable', {
          hint: 'for example: --header-env X-Team=TEAM_TOKEN',
        })
      return [name, environmentValue(variable, '--header-env')]
    }),
  )
  if (headerStdin !== undefined) headers[headerStdin] = await readStdin('--header-stdin')
  return Object.keys(headers).length > 0 ? headers : undefined
}

/** Prints the code and where to enter it, also with `--quiet`, and waits. Deletes the credential if the authorization fails. */
async function authorizeDevice(
  { client }: Context,
  name: string,
  { provider, baseUrl, clientId }: AddOptions,
): Promise<Credential> {
  const {
    credentialId: id,
    userCode,
    verificationUri,
  } = await client.credentials.initOauth({ name, provider, baseUrl, clientId })
  process.stderr.write(escapeControls(`Open ${verificationUri} in your browser and enter the code ${userCode}`) + '\n')
  for (;;) {
    const { status } = await client.credentials.oauthStatus({ id })
    if (status === 'complete') return client.credentials.get({ id })
    if (status === 'pending') {
      await delay(askEveryMs)
      continue
    }
    await client.credentials.delete({ id })
    throw new Failure(
      status === 'expired' ? 'timedOut' : 'failure',
      status === 'expired' ? 'the code was not entered in time' : 'the authorization was refused',
      { see: 'board credentials add --help' },
    )
  }
}

function registerEdit(credentials: Command): void {
  const described = credentials
    .command('edit <credential>')
    .summary('Change a credential')
    .description(
      'Change the name, the API key, the headers or the models of a credential. New headers and models replace all earlier ones.',
    )
    .option('--name <name>', 'new name')
    .option('--api-key-stdin', 'read the new API key from stdin')
    .addOption(
      new Option('--slots <number>', 'maximum number of concurrent agents; none for no limit').argParser(
        orWord('none', count),
      ),
    )
  const edit = addSentOptions(described)
    .addOption(new Option('--remove-headers', 'remove all headers').conflicts(['headerStdin', 'headerEnv']))
    .action(async (wanted: string, options: EditOptions) => {
      const { name, apiKeyStdin, model, removeHeaders, slots } = options
      if (name === undefined && !apiKeyStdin && !removeHeaders && slots === undefined && !isSent(options))
        throw usage('nothing to change', {
          hint: 'specify --name, --api-key-stdin, --header-stdin, --header-env, --remove-headers, --model or --slots',
          see: 'board credentials edit --help',
        })
      const context = await openUserContext(edit)
      const { id } = await resolveCredential(context, wanted)
      const edited = await context.client.credentials.update({
        id,
        name,
        headers: removeHeaders ? {} : await readHeaders(options),
        models: noneAsEmpty(model),
        agentSlots: wordAsNull('none', slots),
        apiKey: apiKeyStdin ? await readStdin('--api-key-stdin') : undefined,
      })
      await context.out.did(edited, `Edited credential ${id}.`)
    })
  prints(edit, 'credentials.list')
  example(edit, 'board credentials edit work --name office', 'board credentials edit work --api-key-stdin < key.txt')
}

function registerDelete(credentials: Command): void {
  const command = credentials
    .command('delete <credential>')
    .summary('Delete a credential')
    .description('Delete a credential. Projects, cards and organizations that used it no longer have a credential.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openUserContext(command)
      const { id, name } = await resolveCredential(context, wanted)
      await confirm(context, `Delete credential ${id} "${name}"?`, yes)
      await context.client.credentials.delete({ id })
      context.out.done(`Deleted credential ${id}.`)
    })
  example(command, 'board credentials delete work')
}

function registerVerify(credentials: Command): void {
  const verify = credentials
    .command('verify <credential>')
    .summary('Verify a credential with its provider')
    .description('Verify a credential with its provider. The command exits with 1 if the credential is invalid.')
    .action(async (wanted: string) => {
      const context = await openUserContext(verify)
      const { id } = await resolveCredential(context, wanted)
      const verdict = { id, ...(await context.client.credentials.verify({ id })) }
      await context.out.record(verdict, [
        { name: 'id', style: 'id', value: each => each.id },
        { name: 'valid', value: each => each.valid },
        { name: 'detail', value: each => each.detail },
      ])
      if (!verdict.valid)
        throw new Failure('failure', 'the credential could not be verified', { see: 'board credentials edit --help' })
    })
  prints(verify, 'credentials.verify', 'id')
  example(verify, 'board credentials verify work')
}

function registerUsage(credentials: Command): void {
  const command = credentials
    .command('usage <credential>')
    .summary('Report the usage of agents')
    .description('Show the sessions, tokens and cost of agents that used a credential, by day and in total.')
    .action(async (wanted: string) => {
      const context = await openUserContext(command)
      const { byDay, ...total } = await context.client.credentials.usage({
        id: (await resolveCredential(context, wanted)).id,
      })
      await (context.out.json
        ? context.out.record({ ...total, byDay }, [])
        : context.out.list([...byDay, { day: 'total', ...total }], days))
    })
  prints(command, 'credentials.usage')
  example(command, 'board credentials usage work', 'board credentials usage work --jq .costUsd')
}
