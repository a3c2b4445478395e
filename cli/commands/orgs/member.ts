import { Argument, Option, type Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import { OrganizationRole } from '../../../src/contract/accounts/organizations.ts'
import type { Output } from '../../../src/contract/route.ts'
import { openUserContext } from '../../context/context.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'
import { confirm } from '../../input/prompt.ts'
import { pickPerson, resolveOrganization } from '../../context/resolve.ts'

type Member = Output<Contract['organizations']['addMember']>
type Role = Member['role']

const roles = OrganizationRole.options
const columns: Column<Member>[] = [
  { name: 'email', style: 'title', value: member => member.email },
  { name: 'displayName', header: 'NAME', style: 'text', value: member => member.displayName },
  { name: 'role', value: member => member.role },
  { name: 'userId', header: 'ID', style: 'id', align: 'right', value: member => member.userId },
]
const see = 'board orgs member list'

/** The commands for the people of an organization. */
export function registerMember(orgs: Command): void {
  const member = orgs.command('member').summary("Manage an organization's members").helpCommand(false)

  const list = member
    .command('list <organization>')
    .summary('List members')
    .description('List the members of an organization by name.')
    .action(async (wanted: string) => {
      const context = await openUserContext(list)
      const { id } = await resolveOrganization(context, wanted)
      await context.out.list(await context.client.organizations.listMembers({ id }), columns, { empty: 'No members.' })
    })
  prints(list, 'organizations.listMembers')
  example(list, 'board orgs member list acme')

  const add = member
    .command('add <organization> <email>')
    .summary('Add a member')
    .description('Add a person who has an account.')
    .addOption(
      new Option('--role <role>', 'role; an admin manages members and projects').choices(roles).default('member'),
    )
    .action(async (wanted: string, email: string, { role }: { role: Role }) => {
      const context = await openUserContext(add)
      const { id } = await resolveOrganization(context, wanted)
      const added = await context.client.organizations.addMember({ id, email, role })
      context.out.done(`Added ${added.email}.`)
      await context.out.record(added, columns)
    })
  prints(add, 'organizations.listMembers')
  example(add, 'board orgs member add acme ada@example.com --role admin')

  const set = member
    .command('set <organization> <member>')
    .addArgument(new Argument('<role>').choices(roles))
    .summary("Change a member's role")
    .action(async (wanted: string, email: string, role: Role) => {
      const context = await openUserContext(set)
      const { id } = await resolveOrganization(context, wanted)
      const { userId } = pickPerson('member', await context.client.organizations.listMembers({ id }), email, see)
      const changed = await context.client.organizations.updateMember({ id, userId, role })
      await context.out.did(changed, `${changed.email} now has the role ${role}.`)
    })
  prints(set, 'organizations.listMembers')
  example(set, 'board orgs member set acme ada@example.com admin')
  registerRemove(member)
}

function registerRemove(member: Command): void {
  const remove = member
    .command('remove <organization> <member>')
    .summary('Remove a member')
    .description('Remove a member. You can remove yourself.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, address: string, { yes }: { yes?: boolean }) => {
      const context = await openUserContext(remove)
      const { id, name } = await resolveOrganization(context, wanted)
      const { userId, email } = pickPerson(
        'member',
        await context.client.organizations.listMembers({ id }),
        address,
        see,
      )
      await confirm(context, `Remove ${email} from organization ${id} "${name}"?`, yes)
      await context.client.organizations.removeMember({ id, userId })
      context.out.done(`Removed ${email}.`)
    })
  example(remove, 'board orgs member remove acme ada@example.com')
}
