import { Argument, Option, type Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import { ProjectRole } from '../../../src/contract/projects/members.ts'
import type { Output } from '../../../src/contract/route.ts'
import { openUserContext, type Context } from '../../context/context.ts'
import { Failure } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { makeOnce } from '../../requests/makeOnce.ts'
import type { Column } from '../../output/output.ts'
import { confirm } from '../../input/prompt.ts'
import { pickPerson } from '../../context/resolve.ts'

type Member = Output<Contract['members']['list']>[number]
type Added = Output<Contract['members']['add']>
type Invited = Output<Contract['members']['renewInvitation']>
type Role = Member['role']

const roles = ProjectRole.options
const columns: Column<Member>[] = [
  { name: 'email', style: 'title', value: member => member.email },
  { name: 'displayName', header: 'NAME', style: 'text', value: member => member.displayName },
  { name: 'role', value: member => member.role },
  { name: 'pending', header: 'INVITED', value: member => member.pending },
  {
    name: 'accepted',
    hidden: true,
    value: member => !member.pending && member.acceptedAt !== null,
  },
  { name: 'expiresAt', hidden: true, value: member => (member.pending ? member.expiresAt : null) },
  { name: 'userId', header: 'ID', style: 'id', align: 'right', value: member => member.userId },
]
const invitedColumns: Column<Invited>[] = [
  { name: 'email', style: 'title', value: invited => invited.email },
  { name: 'role', value: invited => invited.role },
  { name: 'expiresAt', header: 'Good until', style: 'time', value: invited => invited.expiresAt },
  { name: 'link', value: invited => invited.link },
]
const see = 'board projects member list'

/** The commands for the people of the current project. */
export function registerMember(projects: Command): void {
  const member = projects
    .command('member')
    .summary("Manage a project's members")
    .description('Manage the members of the current project, and invited people.')
    .helpCommand(false)

  registerList(member)
  registerAdd(member)
  registerSet(member)
  registerRemove(member)
}

function registerList(member: Command): void {
  const list = member
    .command('list')
    .summary('List members')
    .description('List the members of the current project, followed by invited people. The owner is not listed.')
    .action(async () => {
      const context = await openUserContext(list)
      const { id } = await context.project()
      await context.out.list(await context.client.members.list({ id }), columns, { empty: 'No members.' })
    })
  prints(list, 'members.update')
  example(list, 'board projects member list', 'board projects member list -P web --json email,role')
}

function registerAdd(member: Command): void {
  const add = member
    .command('add <email>')
    .summary('Add or invite a member')
    .description(
      'Add a person to the current project. If the email has no verified account, the command invites it: it prints a link once, and the person who accepts the invitation becomes a member.',
    )
    .option('--renew', 'create a new invitation link, and revoke the earlier one')
    .addOption(
      new Option('--role <role>', 'an admin manages members, a member works, a viewer reads')
        .choices(roles)
        .default('member'),
    )
    .action(async (email: string, { role, renew }: { role: Role; renew?: boolean }) => {
      const context = await openUserContext(add)
      const { id: projectId } = await context.project()
      const added = await makeOnce(context, 'board projects member list', (): Promise<Added> =>
        renew
          ? context.client.members.renewInvitation({ projectId, email })
          : context.client.members.add({ id: projectId, email, role }),
      )
      if (added.pending) return printInvited(context, added)
      context.out.done(`Added ${added.email}.`)
      await context.out.record(added, columns)
    })
  prints(add, 'members.update')
  example(
    add,
    'board projects member add ada@example.com',
    'board projects member add bob@example.com --role viewer -P web',
    'board projects member add bob@example.com --renew -q > link.txt',
  )
}

function registerSet(member: Command): void {
  const set = member
    .command('set <member>')
    .addArgument(new Argument('<role>').choices(roles))
    .summary("Change a member's role")
    .description("Change a member's role in the current project.")
    .action(async (address: string, role: Role) => {
      const context = await openUserContext(set)
      const { id: projectId } = await context.project()
      const { userId, email } = pickPerson('member', await context.client.members.list({ id: projectId }), address, see)
      if (userId === null)
        throw new Failure('conflict', `${email} is invited, but is not a member yet`, {
          hint: `remove the invitation, and invite the user again with --role ${role}`,
          see,
        })
      const changed = await context.client.members.update({ projectId, userId, role })
      await context.out.did(changed, `${email} now has the role ${role}.`)
    })
  prints(set, 'members.update')
  example(set, 'board projects member set ada@example.com viewer')
}

/** Prints an invitation's link once. With `--quiet`, prints nothing else, so that the output can be redirected to a file. */
async function printInvited({ out }: Context, invited: Invited): Promise<void> {
  if (out.quiet && !out.json) return out.line(invited.link)
  out.done(
    `Invited ${invited.email}. Share the link now, because it is not shown again. Anyone who has the link can accept it once.`,
  )
  out.done('After they sign in or register, they run: board auth accept')
  await out.record(invited, invitedColumns)
}

function registerRemove(member: Command): void {
  const remove = member
    .command('remove <member>')
    .summary('Remove a member')
    .description('Remove a member from the current project, or withdraw an invitation. You can remove yourself.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (address: string, { yes }: { yes?: boolean }) => {
      const context = await openUserContext(remove)
      const { id: projectId, name } = await context.project()
      const { userId, email } = pickPerson('member', await context.client.members.list({ id: projectId }), address, see)
      await confirm(
        context,
        userId === null
          ? `Withdraw the invitation of ${email} to project ${projectId} "${name}"?`
          : `Remove ${email} from project ${projectId} "${name}"?`,
        yes,
      )
      if (userId === null) await context.client.members.removeInvitation({ projectId, email })
      else await context.client.members.remove({ projectId, userId })
      context.out.done(userId === null ? `Withdrew the invitation of ${email}.` : `Removed ${email}.`)
    })
  example(remove, 'board projects member remove ada@example.com')
}
