import type { Command } from 'commander'
import { pagePath, showPage } from '../browser/openPage.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { countCards } from '../cards/cardApi.ts'
import { openContext, openUserContext, type Context } from '../context/context.ts'
import { example, groupVerbs, prints } from '../help/help.ts'
import { reorderIds } from '../input/reorder.ts'
import type { Column } from '../output/output.ts'
import { confirmByName } from '../input/prompt.ts'
import { saveDownload } from '../output/saveDownload.ts'
import { chosenCredential, resolveOrganization, resolveProject, type Named } from '../context/resolve.ts'
import { projectColumns, projectFields } from '../projects/projectColumns.ts'
import { registerCreate } from './projects/create.ts'
import { registerEdit } from './projects/edit.ts'
import { registerIssues } from './projects/issues.ts'
import { registerMember } from './projects/member.ts'
import { registerForge } from './projects/forge.ts'
import { registerSandbox } from './projects/sandbox.ts'
import { registerUse } from './projects/use.ts'
import { registerWorktree } from './projects/worktree.ts'

type Stats = Output<Contract['projects']['stats']>

export function register(projects: Command): void {
  const list = projects
    .command('list')
    .summary('List projects')
    .description('List the projects that you can view, in your order.')
    .option('--org <organization>', 'only of this organization (name or ID)')
    .action(async ({ org }: { org?: string }) => {
      const context = await openUserContext(list)
      const organizationId = org === undefined ? undefined : (await resolveOrganization(context, org)).id
      await context.out.list(await context.client.projects.list({ organizationId }), projectColumns, {
        empty: 'No projects. Create one: board projects create <name>',
      })
    })
  prints(list, 'projects.get')
  example(list, 'board projects list', 'board projects list --org acme --json id,name')

  const view = projects
    .command('view [project]')
    .summary('Show a project')
    .description('Show a project (default: the current one).')
    .option('--web', 'open the board in your browser; in a pipe, print the address')
    .action(async (wanted: string | undefined, { web }: { web?: boolean }) => {
      const context = await openContext(view)
      const { id } = await projectOf(context, wanted)
      await (web
        ? showPage(context, pagePath.project(id))
        : context.out.record(await context.client.projects.get({ id }), projectFields))
    })
  prints(view, 'projects.get')
  example(view, 'board projects view', 'board projects view --web', 'board projects view web --json path')

  registerCreate(projects)
  registerEdit(projects)
  registerDelete(projects)
  registerOrder(projects)
  registerContents(projects)
  registerCredential(projects)
  registerForge(projects)
  registerIssues(projects)
  registerMember(projects)
  registerSandbox(projects)
  registerWorktree(projects)
  groupVerbs(projects, {
    'See projects': 'list view stats files issues read',
    'Change projects': 'create edit worktree sandbox forge use accept reorder delete export',
    'Who works on them': 'member credential',
  })
}

/** The named project, otherwise the current one. */
const projectOf = (context: Context, wanted: string | undefined): Promise<Named> =>
  wanted === undefined ? context.project() : resolveProject(context, wanted)

function registerDelete(projects: Command): void {
  const command = projects
    .command('delete <project>')
    .summary('Delete a project')
    .description('Delete a project with its boards, columns and cards. Its folder remains.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .option('--dry-run', 'show what would be deleted, without deleting it')
    .action(async (wanted: string, { yes, dryRun }: { yes?: boolean; dryRun?: boolean }) => {
      const context = await openContext(command)
      const { id, name } = await resolveProject(context, wanted)
      const { total } = await context.client.projects.stats({ id })
      const what = `project ${id} "${name}" with ${total} card${total === 1 ? '' : 's'}`
      if (dryRun) return context.out.wouldDelete(what, { id, name, cards: total })
      await confirmByName(context, `This deletes ${what}.`, name, yes)
      await context.client.projects.delete({ id })
      context.out.done(`Deleted ${what}.`)
    })
  prints(command, null, 'id name cards')
  example(command, 'board projects delete web', 'board projects delete web --dry-run')
}

function registerOrder(projects: Command): void {
  const reorder = projects
    .command('reorder <projects...>')
    .summary('Reorder your projects')
    .description('Reorder your projects: the specified ones first, then the others in their current order.')
    .action(async (wanted: string[]) => {
      const context = await openUserContext(reorder)
      const ids = reorderIds('project', await context.client.projects.list(), wanted, 'board projects list')
      await context.out.list(await context.client.projects.reorder({ ids }), projectColumns)
    })
  prints(reorder, 'projects.get')
  example(reorder, 'board projects reorder web api')

  registerUse(projects)

  const accept = projects
    .command('accept <project>')
    .summary('Accept a project in its folder')
    .description(
      'Accept a project that another user added you to. The project becomes the current one in its folder. Until you accept it, you can view it, and select it with -P.',
    )
    .action(async (wanted: string) => {
      const context = await openUserContext(accept)
      const { id } = await resolveProject(context, wanted)
      await context.client.projects.opened({ id })
      const { name, path } = await context.client.projects.get({ id })
      await context.out.did({ id, name, path }, `Project ${id} "${name}" is now the current project in ${path}.`)
    })
  prints(accept, null, 'id name path')
  example(accept, 'board projects accept web')
}

function registerCredential(projects: Command): void {
  const credential = projects
    .command('credential <credential>')
    .summary("Choose the credential of a project's agents")
    .description("Set the credential of the current project's agents, or remove it with none.")
    .action(async (wanted: string) => {
      const context = await openUserContext(credential)
      const { id, name } = await context.project()
      const project = await context.client.credentials.choose({
        projectId: id,
        credentialId: await chosenCredential(context, wanted),
      })
      await context.out.did(
        project,
        project.credentialId === null
          ? `Removed the credential of project ${id} "${name}".`
          : `Project ${id} "${name}" uses credential ${project.credentialId}.`,
      )
    })
  prints(credential, 'credentials.choose')
  example(credential, 'board projects credential work', 'board projects credential none -P web')
}

interface Tally {
  group: string
  id: string | null
  name: string
  count: number
}
const tallies: Column<Tally>[] = [
  { name: 'group', style: 'dim', value: tally => tally.group },
  { name: 'id', style: 'id', align: 'right', value: tally => tally.id },
  { name: 'name', style: 'title', value: tally => tally.name },
  { name: 'count', align: 'right', value: tally => tally.count },
]

function registerContents(projects: Command): void {
  const stats = projects
    .command('stats [project]')
    .summary("Count a project's cards")
    .description("Show the number of a project's cards by status and column, and the tokens of its agents.")
    .action(async (wanted?: string) => {
      const context = await openContext(stats)
      const counted = await countCards(context, (await projectOf(context, wanted)).id)
      await (context.out.json ? context.out.record(counted, []) : context.out.list(talliesOf(counted), tallies))
    })
  prints(stats, 'projects.stats')
  example(stats, 'board projects stats', 'board projects stats web --jq .byStatus.failed')

  const read = projects
    .command('read [project]')
    .summary('Mark all cards of a project as read')
    .action(async (wanted?: string) => {
      const context = await openContext(read)
      const { id, name } = await projectOf(context, wanted)
      await context.client.projects.markAllRead({ id })
      context.out.done(`Marked all cards of project ${id} "${name}" as read.`)
    })
  example(read, 'board projects read web')

  const save = projects
    .command('export [project]')
    .summary('Export a project to a JSON file')
    .description(
      'Export a project with its boards, cards, transcripts and attachments to a JSON file, and print the name of the file. The file contains no secrets. To import it: board import board.',
    )
    .option(
      '-o, --output <file>',
      "file or folder to write, or - for stdout (default: the project's name in the current folder)",
    )
    .action(async (wanted: string | undefined, { output }: { output?: string }) => {
      const context = await openContext(save)
      const { id } = await projectOf(context, wanted)
      await saveDownload(
        context.out,
        await context.client.transfers.exportProject({ id }),
        output,
        `project-${id}.board.json`,
      )
    })
  prints(save, null, 'path size')
  example(save, 'board projects export', 'board projects export web -o - | jq .cards')

  const files = projects
    .command('files [project]')
    .summary('List tracked files')
    .description("List the files that Git tracks in a project's folder.")
    .action(async (wanted?: string) => {
      const context = await openContext(files)
      const paths = await context.client.projects.files({ projectId: (await projectOf(context, wanted)).id })
      if (context.out.json) return context.out.value(paths)
      for (const path of paths) context.out.line(path)
    })
  example(files, 'board projects files', 'board projects files web | grep test')
}

const talliesOf = ({ total, byStatus, byColumn, tokens }: Stats): Tally[] => [
  { group: 'cards', id: null, name: 'total', count: total },
  ...Object.entries(byStatus).map(([name, count]) => ({ group: 'status', id: null, name, count })),
  ...byColumn.map(({ columnId, name, count }) => ({ group: 'column', id: columnId, name, count })),
  { group: 'tokens', id: null, name: 'total', count: tokens.total },
]
