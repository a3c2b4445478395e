import type { Command } from 'commander'
import { resolve as absolute } from 'node:path'
import { ApiFailure } from '../../../src/client/index.ts'
import type { Repository } from '../../../src/contract/forges/repositories.ts'
import { openUserContext, type Context } from '../../context/context.ts'
import { resolveOrganization } from '../../context/resolve.ts'
import { example, prints } from '../../help/help.ts'
import { confirmDuplicate } from '../../projects/confirmDuplicate.ts'
import { projectColumns, type Project } from '../../projects/projectColumns.ts'
import { addRepositoryOption } from '../../projects/repositoryOptions.ts'

interface CreateOptions {
  path: string
  org?: string
  repository?: Repository[]
  yes?: boolean
}

export function registerCreate(projects: Command): void {
  const command = projects
    .command('create <name>')
    .summary('Create a project')
    .description('Create a project for a folder, with its first board.')
    .option('--path <folder>', 'folder on the server, created if its parent exists', '.')
    .option('--org <organization>', 'name or ID of the organization')
    .option('-y, --yes', 'skip the confirmation prompts, also if another project has this folder or name')
  const create = addRepositoryOption(command, '--repository').action(
    async (name: string, { path, org, yes, repository: repositories }: CreateOptions) => {
      const context = await openUserContext(create)
      await confirmDuplicate(context, { name, path: absolute(path) }, yes)
      const organizationId = org === undefined ? undefined : (await resolveOrganization(context, org)).id
      const project = await createIn(context, { name, path: absolute(path), organizationId, repositories })
      const current = await context.project().catch(() => undefined)
      context.out.done(
        `Created project ${project.id}. Add a card: board cards add <title>${current?.id === project.id ? '' : ` -P ${project.id}`}`,
      )
      await context.out.record(project, projectColumns.slice(0, 3))
    },
  )
  prints(create, 'projects.get')
  example(
    create,
    'board projects create web',
    'board projects create api --path ~/src/api --org acme',
    'board projects create shop --path ~/src/shop --repository lib=../lib',
  )
}

/** Creates a project, and its folder if that is missing. */
async function createIn(
  { client, out }: Context,
  project: { name: string; path: string; organizationId?: string; repositories?: Repository[] },
): Promise<Project> {
  try {
    return await client.projects.create(project)
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.code !== 'PATH_NOT_FOUND') throw error
    const created = await client.projects.create({ ...project, createFolder: true })
    out.done(`Created the folder ${created.path}.`)
    return created
  }
}
