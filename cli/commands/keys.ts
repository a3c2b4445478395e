import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import { permissions, type Output, type Permission } from '../../src/contract/route.ts'
import { durationSecs, expiry } from '../parsing/arguments.ts'
import { openUserContext, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { makeOnce } from '../requests/makeOnce.ts'
import type { Column } from '../output/output.ts'
import { confirm } from '../input/prompt.ts'
import { resolveKey, resolveOrganization } from '../context/resolve.ts'

type Key = Output<Contract['keys']['get']>
type NewKey = Output<Contract['keys']['create']>
type Scope = Key['scope']

const scopes: Scope[] = ['server', 'organization', 'project']
const columns: Column<Key>[] = [
  { name: 'id', style: 'id', align: 'right', value: key => key.id },
  { name: 'name', style: 'title', value: key => key.name },
  { name: 'scope', value: key => [key.scope, key.organizationId ?? key.projectId].filter(Boolean).join(' ') },
  { name: 'app', value: key => key.app },
  { name: 'lastFour', header: 'ENDS IN', value: key => key.lastFour },
  { name: 'lastUsedAt', header: 'USED', style: 'time', value: key => key.lastUsedAt },
  { name: 'expiresAt', header: 'EXPIRES', style: 'time', value: key => key.expiresAt },
  // The last column, because apps have a fixed list of permissions and narrow terminals drop the last columns.
  { name: 'permissions', style: 'text', value: key => key.permissions },
]
const newFields: Column<NewKey>[] = [
  { name: 'id', style: 'id', value: key => key.id },
  { name: 'name', style: 'title', value: key => key.name },
  { name: 'expiresAt', header: 'Expires', style: 'time', value: key => key.expiresAt },
  { name: 'key', value: key => key.key },
]

interface CreateOptions {
  scope: Scope
  org?: string
  expires?: ReturnType<typeof expiry>
  permission: Permission[]
}

export function register(keys: Command): void {
  const list = keys
    .command('list')
    .summary('List your API keys')
    .description('List your API keys, without the keys themselves.')
    .addOption(new Option('--scope <scope>', 'show only keys of this scope').choices(scopes))
    .action(async ({ scope }: { scope?: Scope }) => {
      const context = await openUserContext(list)
      const found = await context.client.keys.list()
      await context.out.list(
        found.filter(key => scope === undefined || key.scope === scope),
        columns,
        { empty: 'No API keys. Create one: board keys create <name>' },
      )
    })
  prints(list, 'keys.list')
  example(list, 'board keys list', 'board keys list --json name,lastUsedAt')
  registerCreate(keys)
  registerRotate(keys)
  registerRevoke(keys)
}

function registerCreate(keys: Command): void {
  const create = keys
    .command('create <name>')
    .summary('Create an API key')
    .description('Create an API key, and show it once. With --quiet, only the key is printed.')
    .addOption(
      new Option('--permission <permission>', 'permission of the key (repeatable)')
        .choices(permissions)
        .argParser(addPermission)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--scope <scope>',
        'projects that the key can access: the project of -P, all of an organization, or all of yours',
      )
        .choices(scopes)
        .default('project'),
    )
    .option('--org <organization>', 'with --scope organization: name or ID of the organization')
    .addOption(
      new Option('--expires <when>', 'expiration: a number of days, up to 366d, or a date (default: 90d)').argParser(
        expiry,
      ),
    )
    .action(async (name: string, options: CreateOptions) => {
      const context = await openUserContext(create)
      const wanted = {
        name,
        ...(await resolveScope(context, options)),
        permissions: options.permission,
        ...options.expires,
      }
      await printNew(context, await makeOnce(context, 'board keys list', () => context.client.keys.create(wanted)))
    })
  prints(create, 'keys.create')
  example(
    create,
    'board keys create ci -P web --permission cards.read --permission cards.create',
    'board keys create nightly --scope server --permission cards.read --expires 30d -q > nightly.key',
  )
}

async function resolveScope(context: Context, { scope, org }: CreateOptions) {
  if (org !== undefined)
    return { scope: 'organization' as const, organizationId: (await resolveOrganization(context, org)).id }
  if (scope === 'organization') throw usage('which organization?', { hint: 'specify --org', see: 'board orgs list' })
  return { scope, ...(scope === 'project' && { projectId: (await context.project()).id }) }
}

/** Prints a key once. With `--quiet`, prints nothing else, so that the output can be redirected to a file. */
async function printNew({ out }: Context, key: NewKey): Promise<void> {
  if (out.quiet && !out.json) return out.line(key.key)
  out.done('Save the key now. It is not shown again.')
  await out.record(key, newFields)
}

function addPermission(text: string, before: Permission[] | undefined): Permission[] {
  const permission = permissions.find(each => each === text)
  if (!permission) throw new InvalidArgumentError(`must be one of ${permissions.join(', ')}.`)
  return [...(before ?? []), permission]
}

function registerRotate(keys: Command): void {
  const rotate = keys
    .command('rotate <key>')
    .summary('Replace an API key')
    .description(
      'Replace an API key with a new one with the same name and permissions, and show it once. With --quiet, only the key is printed. With --grace, webhooks of the old key switch to the new key. Otherwise, they are disabled.',
    )
    .addOption(
      new Option('--grace <time>', 'time for which the old key remains valid: 10m, 1d')
        .argParser(durationSecs)
        .default(0, 'the old key expires immediately'),
    )
    .action(async (wanted: string, { grace }: { grace: number }) => {
      const context = await openUserContext(rotate)
      const { id } = await resolveKey(context, wanted)
      await printNew(
        context,
        await makeOnce(context, 'board keys list', () => context.client.keys.rotate({ id, graceSecs: grace })),
      )
    })
  prints(rotate, 'keys.create')
  example(rotate, 'board keys rotate ci --grace 1h')
}

function registerRevoke(keys: Command): void {
  const revoke = keys
    .command('revoke <key>')
    .summary('Revoke an API key')
    .description('Revoke an API key immediately.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openUserContext(revoke)
      const { id, name } = await resolveKey(context, wanted)
      await confirm(context, `Revoke key ${id} "${name}"?`, yes)
      await context.client.keys.revoke({ id })
      context.out.done(`Revoked key ${id}.`)
    })
  example(revoke, 'board keys revoke ci')
}
