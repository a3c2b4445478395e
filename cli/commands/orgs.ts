import type { Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { openUserContext } from '../context/context.ts'
import { example, prints } from '../help/help.ts'
import type { Column } from '../output/output.ts'
import { confirm } from '../input/prompt.ts'
import { chosenCredential, resolveOrganization } from '../context/resolve.ts'
import { registerMember } from './orgs/member.ts'

type Organization = Output<Contract['organizations']['get']>

const columns: Column<Organization>[] = [
  { name: 'id', style: 'id', align: 'right', value: organization => organization.id },
  { name: 'name', style: 'title', value: organization => organization.name },
  { name: 'role', header: 'YOUR ROLE', value: organization => organization.role },
  { name: 'createdAt', header: 'CREATED', style: 'time', value: organization => organization.createdAt },
]

export function register(orgs: Command): void {
  const list = orgs
    .command('list')
    .summary('List your organizations')
    .description('List the organizations that you belong to.')
    .action(async () => {
      const context = await openUserContext(list)
      await context.out.list(await context.client.organizations.list(), columns, { empty: 'No organizations.' })
    })
  prints(list, 'organizations.list')
  example(list, 'board orgs list')

  const view = orgs
    .command('view <organization>')
    .summary('Show an organization')
    .action(async (wanted: string) => {
      const context = await openUserContext(view)
      const { id } = await resolveOrganization(context, wanted)
      await context.out.record(await context.client.organizations.get({ id }), columns)
    })
  prints(view, 'organizations.list')
  example(view, 'board orgs view acme')

  const create = orgs
    .command('create <name>')
    .summary('Create an organization')
    .description('Create an organization. You become its admin.')
    .action(async (name: string) => {
      const context = await openUserContext(create)
      const organization = await context.client.organizations.create({ name })
      context.out.done(`Created organization ${organization.id}.`)
      await context.out.record(organization, columns.slice(0, 2))
    })
  prints(create, 'organizations.list')
  example(create, 'board orgs create acme')

  const rename = orgs
    .command('rename <organization> <name>')
    .summary('Rename an organization')
    .action(async (wanted: string, name: string) => {
      const context = await openUserContext(rename)
      const { id } = await resolveOrganization(context, wanted)
      const renamed = await context.client.organizations.update({ id, name })
      await context.out.did(renamed, `Renamed organization ${id}.`)
    })
  prints(rename, 'organizations.list')
  example(rename, 'board orgs rename acme "Acme Ltd"')
  registerDelete(orgs)
  registerCredential(orgs)
  registerMember(orgs)
}

function registerDelete(orgs: Command): void {
  const command = orgs
    .command('delete <organization>')
    .summary('Delete an organization')
    .description('Delete an organization without projects.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openUserContext(command)
      const { id, name } = await resolveOrganization(context, wanted)
      await confirm(context, `Delete organization ${id} "${name}"?`, yes)
      await context.client.organizations.delete({ id })
      context.out.done(`Deleted organization ${id}.`)
    })
  example(command, 'board orgs delete acme')
}

function registerCredential(orgs: Command): void {
  const credential = orgs
    .command('credential <organization> <credential>')
    .summary('Set the default credential')
    .description("Set the credential for an organization's projects that do not have one. With none, remove it.")
    .action(async (wanted: string, wantedCredential: string) => {
      const context = await openUserContext(credential)
      const { id } = await resolveOrganization(context, wanted)
      const organization = await context.client.organizations.setCredential({
        orgId: id,
        credentialId: await chosenCredential(context, wantedCredential),
      })
      await context.out.did(
        organization,
        organization.defaultCredentialId === null
          ? `Removed the default credential of organization ${id}.`
          : `Organization ${id} uses credential ${organization.defaultCredentialId}.`,
      )
    })
  prints(credential, 'organizations.list')
  example(credential, 'board orgs credential acme work', 'board orgs credential acme none')
}
