import { Option, type Command } from 'commander'
import { UserRole } from '../../src/contract/fields.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { count } from '../parsing/arguments.ts'
import { openUserContext, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { makeOnce } from '../requests/makeOnce.ts'
import type { Column } from '../output/output.ts'
import { confirm } from '../input/prompt.ts'
import { resolveUser } from '../context/resolve.ts'

type User = Output<Contract['users']['update']>
type Found = Output<Contract['users']['search']>[number]

const maxPerPage = 100
const columns: Column<User>[] = [
  { name: 'id', style: 'id', align: 'right', value: user => user.id },
  { name: 'email', style: 'title', value: user => user.email },
  { name: 'name', style: 'text', value: user => user.name },
  { name: 'role', value: user => user.role },
  { name: 'authProvider', header: 'SIGNS IN BY', value: user => user.authProvider },
  { name: 'addressVerified', header: 'VERIFIED', value: user => user.addressVerified },
  { name: 'createdAt', header: 'CREATED', style: 'time', value: user => user.createdAt },
]
const foundColumns: Column<Found>[] = [
  { name: 'id', style: 'id', align: 'right', value: user => user.id },
  { name: 'email', style: 'title', value: user => user.email },
  { name: 'displayName', header: 'NAME', style: 'text', value: user => user.displayName },
]

export function register(users: Command): void {
  const list = users
    .command('list')
    .summary('List accounts')
    .description('List the accounts of the server (admins only).')
    .option('--search <text>', 'show only accounts whose name or address contains this text')
    .addOption(new Option('--limit <number>', 'maximum number of results').argParser(count).default(50))
    .addOption(new Option('--all', 'show all accounts').conflicts('limit'))
    .action(async ({ search, limit, all }: { search?: string; limit: number; all?: boolean }) =>
      listUsers(await openUserContext(list), search, all ? Infinity : limit),
    )
  prints(list, 'users.update')
  example(list, 'board users list', 'board users list --search ada --json id,role')

  const search = users
    .command('search <text>')
    .summary('Search people')
    .description(
      'Search users by part of their name or email, up to 20 results. All signed-in users can run this command.',
    )
    .action(async (text: string) => {
      const context = await openUserContext(search)
      await context.out.list(await context.client.users.search({ q: text }), foundColumns, {
        empty: 'No people found.',
      })
    })
  prints(search, 'users.search')
  example(search, 'board users search ada')

  registerCreate(users)
  registerEdit(users)
  registerDelete(users)
  registerReset(users)
}

async function listUsers({ client, out }: Context, search: string | undefined, limit: number): Promise<void> {
  const users: User[] = []
  let total = Infinity
  while (users.length < Math.min(limit, total)) {
    const page = await client.users.list({
      search,
      offset: users.length,
      limit: Math.min(maxPerPage, limit - users.length),
    })
    users.push(...page.users)
    total = page.users.length === 0 ? users.length : page.total
  }
  await out.list(users, columns, { empty: 'No accounts.' })
  if (users.length < total)
    out.warn(`there are ${total} accounts; these are the first ${users.length}. --all lists every account`)
}

const roleOption = (text: string): Option => new Option('--role <role>', text).choices(UserRole.options)

function registerCreate(users: Command): void {
  const create = users
    .command('create <email>')
    .summary('Create an account')
    .description(
      'Create an account with a generated password, and show the password once. With --quiet, only the password is printed.',
    )
    .option('--name <name>', 'name (default: the part of the email before the @)')
    .addOption(roleOption('server role').default('user'))
    .action(async (email: string, { name, role }: { name?: string; role: UserRole }) => {
      const context = await openUserContext(create)
      const { user, generatedPassword } = await makeOnce(context, 'board users list', () =>
        context.client.users.create({ email, name: name ?? (email.split('@')[0] || email), role }),
      )
      await printNew(context, { ...user, generatedPassword })
    })
  prints(create, 'users.update', 'generatedPassword')
  example(
    create,
    'board users create ada@example.com --name "Ada Lovelace"',
    'board users create ops@example.com --role admin -q > password.txt',
  )
}

/** Prints a password once. With `--quiet`, prints nothing else, so that the output can be redirected to a file. */
async function printNew<Row extends { id: string; email: string | null; generatedPassword: string }>(
  { out }: Context,
  row: Row,
): Promise<void> {
  if (out.quiet && !out.json) return out.line(row.generatedPassword)
  out.done('Save the password now. It is not shown again.')
  await out.record<Row>(row, [
    { name: 'id', style: 'id', value: each => each.id },
    { name: 'email', style: 'title', value: each => each.email },
    { name: 'generatedPassword', header: 'Password', value: each => each.generatedPassword },
  ])
}

function registerEdit(users: Command): void {
  const edit = users
    .command('edit <user>')
    .summary('Change an account')
    .description(
      'Change the name or the role of an account, or confirm its email address. Specify the account by its email or ID.',
    )
    .option('--name <name>', 'new name')
    .addOption(roleOption('new server role'))
    .option('--address-verified', 'confirm that the address belongs to this person')
    .action(async (wanted: string, change: { name?: string; role?: UserRole; addressVerified?: true }) => {
      if (Object.keys(change).length === 0)
        throw usage('nothing to change', {
          hint: 'specify --name, --role or --address-verified',
          see: 'board users edit --help',
        })
      const context = await openUserContext(edit)
      const user = await context.client.users.update({ id: (await resolveUser(context, wanted)).id, ...change })
      context.out.done(`Edited user ${user.id}.`)
      await context.out.record(user, columns.slice(0, 4))
    })
  prints(edit, 'users.update')
  example(edit, 'board users edit ada@example.com --role admin', 'board users edit ada@example.com --address-verified')
}

function registerDelete(users: Command): void {
  const command = users
    .command('delete <user>')
    .summary('Delete an account')
    .description('Delete an account, and end its sign-ins and keys. Its projects are transferred to a super_admin.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .option('--dry-run', 'show what would be deleted or transferred, without changing it')
    .action(async (wanted: string, { yes, dryRun }: { yes?: boolean; dryRun?: boolean }) => {
      const context = await openUserContext(command)
      const { id, name } = await resolveUser(context, wanted)
      const { ownedProjectsCount: total } = await context.client.users.checkDelete({ id })
      const what = `user ${name}${total === 0 ? '' : `; ${total} project${total === 1 ? ' passes' : 's pass'} to a super_admin`}`
      if (dryRun) return context.out.wouldDelete(what, { id, projects: total })
      await confirm(context, `Delete ${what}?`, yes)
      await context.client.users.delete({ id })
      context.out.done(`Deleted ${what}.`)
    })
  prints(command, null, 'id projects')
  example(command, 'board users delete ada@example.com --dry-run', 'board users delete ada@example.com')
}

function registerReset(users: Command): void {
  const reset = users
    .command('reset-password <user>')
    .summary('Change a password')
    .description(
      'Replace the password of an account with a generated one, and end its sign-ins. The password is shown once. With --quiet, only the password is printed.',
    )
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openUserContext(reset)
      const { id, name, email } = await resolveUser(context, wanted)
      await confirm(context, `Replace the password of user ${name}?`, yes)
      const made = await makeOnce(context, 'board users list', () => context.client.users.resetPassword({ id }))
      await printNew(context, { id, email, ...made })
    })
  prints(reset, null, 'id email generatedPassword')
  example(reset, 'board users reset-password ada@example.com')
}
